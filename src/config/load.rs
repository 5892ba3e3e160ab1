//! Reads a `KubeSchedulerConfiguration` (`kubescheduler.config.k8s.io/v1`): text, fields, defaults, validation,
//! plugins.
//!
//! Follows `cmd/kube-scheduler/app/options/configfile.go` and what it calls. Complaints of decoding have better
//! words than Go's; the others are kube-scheduler's.

use super::complaint::{Complaint, Complaints, Step};
use super::decode::{Decode, Finding, Findings, Path};
use super::document::{Document, Node, Value};
use super::effective::{BuildProblem, Subject, effective_plugins};
use super::expansion::EffectivePlugins;
use super::extenders;
use super::gates::FeatureGates;
use super::go_text::quoted;
use super::plugin_names::PluginCatalog;
use super::scheduler_config::{PluginConfig, Profile, SchedulerConfig};
use super::v1::{
    API_VERSION, KIND, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginArgs, without_type,
};
use super::validation::validate;
use super::warnings::warnings;
use crate::api::field::{child, index};
use crate::api::manifest::Place;
use crate::api::{Duration, Str};

/// How a configuration is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// What complaints call the text, such as the file's name.
    pub source: &'a str,
    /// The feature gates: they add default plugins and allow fields.
    pub gates: &'a FeatureGates,
    /// The plugins that may be enabled.
    pub catalog: &'a PluginCatalog,
}

/// What is known of the plugins while a configuration is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    /// The extension points of each.
    Points,
    /// At the most their names.
    Names,
}

/// How a configuration is read that is to be run by the plugins that are there.
#[derive(Clone, Copy)]
pub struct LoadOptions<'a> {
    /// The feature gates: they add default plugins and allow fields.
    pub gates: &'a FeatureGates,
    /// Whether there is a plugin of that name. One of kube-scheduler that is not there is left out of all profiles.
    pub has_plugin: &'a dyn Fn(&str) -> bool,
}

impl SchedulerConfig {
    /// The configuration that holds where none is given: one profile with the default plugins.
    pub fn with_defaults(options: LoadOptions<'_>) -> Self {
        let mut config = Self::default_under(options.gates);
        config.leave_out_unbuilt(options.has_plugin);
        config
    }

    /// The configuration that holds under these gates where none is given, with all plugins.
    pub fn default_under(gates: &FeatureGates) -> Self {
        let mut document = KubeSchedulerConfiguration::default();
        document.set_defaults(gates);
        let effective = effective_plugins(&document, gates, &PluginCatalog::default()).unwrap_or_default();
        assemble(document, gates, effective, Complaints::default())
    }

    /// Reads a configuration in YAML or JSON, for the plugins that are there. What only those plugins know is left
    /// to the building of the frameworks: whether each is there and has the points where it is enabled. Where that
    /// would fail, [`SchedulerConfig::effective_plugins`] is empty.
    ///
    /// # Errors
    /// As [`SchedulerConfig::read`], without those of profiles that cannot be built.
    pub fn load(text: &str, options: LoadOptions<'_>) -> Result<Self, Complaints> {
        let LoadOptions { gates, has_plugin } = options;
        let catalog = PluginCatalog::default();
        let options = ReadOptions { source: "configuration", gates, catalog: &catalog };
        let mut config = Self::read_as(text, options, Knowledge::Names)?;
        config.leave_out_unbuilt(has_plugin);
        Ok(config)
    }

    /// Reads a configuration in YAML or JSON.
    ///
    /// # Errors
    /// Everything that the first failing step finds: the text is no configuration, fields are unknown or there
    /// twice or of another type, values are not allowed, or no scheduler can be made of it.
    pub fn read(text: &str, options: ReadOptions<'_>) -> Result<Self, Complaints> {
        Self::read_as(text, options, Knowledge::Points)
    }

    fn read_as(text: &str, options: ReadOptions<'_>, knowledge: Knowledge) -> Result<Self, Complaints> {
        let document = Document::read(text).map_err(|error| Complaints {
            source: options.source.to_owned(),
            are_warnings: false,
            list: vec![Complaint {
                step: Step::Read,
                text: error.reason,
                places: vec![Place::find(text, error.offset)],
            }],
        })?;
        let reader = Reader { text, options, root: &document.root, is_json: document.is_json };
        if !document.problems.is_empty() {
            let problems = document.problems.iter();
            let list = problems.map(|problem| reader.at(Step::Read, problem.reason.clone(), problem.offset));
            return Err(reader.refuse(list.collect()));
        }
        reader.check_type()?;
        let config = reader.decode()?;
        let mut config = reader.finish(config, knowledge)?;
        if let Some(offset) = document.second {
            let text = "only the first document is read".to_owned();
            config.warnings.list.push(reader.at(Step::Read, text, offset));
        }
        Ok(config)
    }
}

/// The running form of a document that was checked.
fn assemble(
    document: KubeSchedulerConfiguration,
    gates: &FeatureGates,
    effective_plugins: Vec<EffectivePlugins>,
    warnings: Complaints,
) -> SchedulerConfig {
    // The document stays as it was written; the extenders change what runs.
    let mut profiles = document.profiles.clone();
    let _ = extenders::check(&document.extenders, &mut profiles);
    let seconds = |seconds: Option<i64>| {
        Duration::from_secs(seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0))
    };
    SchedulerConfig {
        parallelism: document.parallelism.unwrap_or(0),
        percentage_of_nodes_to_score: document.percentage_of_nodes_to_score.unwrap_or(0),
        pod_initial_backoff: seconds(document.pod_initial_backoff_seconds),
        pod_max_backoff: seconds(document.pod_max_backoff_seconds),
        profiles: profiles.into_iter().map(running_profile).collect(),
        extenders: document.extenders.clone(),
        gates: *gates,
        effective_plugins,
        document,
        warnings,
        left_out: Vec::new(),
    }
}

struct Reader<'a> {
    text: &'a str,
    options: ReadOptions<'a>,
    root: &'a Node,
    is_json: bool,
}

impl Reader<'_> {
    fn refuse(&self, list: Vec<Complaint>) -> Complaints {
        Complaints { source: self.options.source.to_owned(), are_warnings: false, list }
    }

    fn at(&self, step: Step, text: String, offset: usize) -> Complaint {
        Complaint { step, text, places: vec![Place::find(self.text, offset)] }
    }

    /// A complaint about the field at a path.
    fn about(&self, step: Step, text: String, path: &str) -> Complaint {
        self.at(step, text, self.root.locate(path))
    }

    /// Whether the text is a configuration of the version that is read.
    fn check_type(&self) -> Result<(), Complaints> {
        if !matches!(self.root.value, Value::Map(_) | Value::Null) {
            let text = format!("a mapping is expected, not {}", self.root.describe());
            return Err(self.refuse(vec![self.at(Step::Read, text, self.root.offset)]));
        }
        let mut findings = Findings::default();
        let mut read = |name| {
            // The names count in any case here, as with Go; that they are unknown then is told later.
            let node = self.root.get(name).or_else(|| self.root.get_in_any_case(name));
            let node = node.map(|entry| &entry.value);
            node.map(|node| String::decode(node, &Path::Text(name), &mut findings)).unwrap_or_default()
        };
        let (api_version, kind) = (read("apiVersion"), read("kind"));
        let mut list: Vec<Complaint> = findings
            .list
            .into_iter()
            .map(|finding| self.at(Step::Read, finding.text, finding.offset))
            .collect();
        if list.is_empty() {
            for (name, value, word) in [("kind", &kind, "Kind"), ("apiVersion", &api_version, "apiVersion")] {
                if value.is_empty() {
                    list.push(self.about(Step::Read, format!("Object '{word}' is missing"), name));
                }
            }
        }
        if list.is_empty() && (api_version != API_VERSION || kind != KIND) {
            let is_args =
                kind.strip_suffix("Args").is_some_and(|plugin| PluginArgs::PLUGINS.contains(&plugin));
            let (text, field) = if api_version.matches('/').count() > 1 {
                (format!("unexpected GroupVersion string: {api_version}"), "apiVersion")
            } else if api_version == API_VERSION && is_args {
                (format!("couldn't decode as {KIND}, got {API_VERSION}, Kind={kind}"), "kind")
            } else {
                let text = format!(
                    "no kind {} is registered for version {}; kind {KIND} of version {API_VERSION} is expected",
                    quoted(&kind),
                    quoted(&api_version)
                );
                (text, if api_version == API_VERSION { "kind" } else { "apiVersion" })
            };
            list.push(self.about(Step::Read, text, field));
        }
        if list.is_empty() { Ok(()) } else { Err(self.refuse(list)) }
    }

    /// Decodes the fields. Where only strictness complains, values are validated as well, so that all complaints
    /// come at once.
    fn decode(&self) -> Result<KubeSchedulerConfiguration, Complaints> {
        let mut findings = Findings { is_json: self.is_json, ..Findings::default() };
        let untyped = without_type(self.root);
        let config = KubeSchedulerConfiguration::decode(&untyped, &Path::Text(""), &mut findings);
        findings.list.extend(self.repeated_type_fields());
        if findings.list.is_empty() {
            return Ok(config);
        }
        let is_understood = findings.list.iter().all(|finding| finding.is_strict);
        let mut list: Vec<Complaint> = findings
            .list
            .into_iter()
            .map(|finding| self.at(Step::Decode, finding.text, finding.offset))
            .collect();
        if is_understood {
            let mut config = config;
            config.set_defaults(self.options.gates);
            list.extend(self.validate(&config));
        }
        Err(self.refuse(list))
    }

    /// `apiVersion` and `kind` that are there twice.
    fn repeated_type_fields(&self) -> Vec<Finding> {
        let Value::Map(entries) = &self.root.value else { return Vec::new() };
        let repeated = entries.iter().enumerate().filter(|(i, entry)| {
            matches!(entry.key.as_str(), "apiVersion" | "kind")
                && entries[..*i].iter().any(|earlier| earlier.key == entry.key)
        });
        repeated.map(|(_, entry)| Finding::duplicate(&entry.key, entry.offset)).collect()
    }

    fn validate(&self, config: &KubeSchedulerConfiguration) -> Vec<Complaint> {
        let mut list: Vec<Complaint> = Vec::new();
        for error in validate(config, self.options.gates) {
            let complaint = self.about(Step::Validate, error.to_string(), &error.path);
            if !list.contains(&complaint) {
                list.push(complaint);
            }
        }
        list
    }

    /// Defaults, validation, extenders, and the plugins of every profile.
    fn finish(
        &self,
        mut config: KubeSchedulerConfiguration,
        knowledge: Knowledge,
    ) -> Result<SchedulerConfig, Complaints> {
        let ReadOptions { gates, catalog, .. } = self.options;
        config.set_defaults(gates);
        let list = self.validate(&config);
        if !list.is_empty() {
            return Err(self.refuse(list));
        }
        let effective = match (effective_plugins(&config, gates, catalog), knowledge) {
            (Ok(effective), _) => effective,
            (Err(problems), Knowledge::Names) if problems.iter().all(BuildProblem::is_about_profiles) => {
                Vec::new()
            }
            (Err(problems), _) => {
                let problems = problems.into_iter();
                let list = problems.map(|problem| self.build_complaint(problem.text, &problem.subject));
                return Err(self.refuse(list.collect()));
            }
        };
        let mut warned = Vec::new();
        if knowledge == Knowledge::Points {
            for (path, text) in warnings(&config, catalog) {
                warned.push(self.about(Step::Build, format!("{path}: {text}"), &path));
            }
        }
        let warnings = Complaints { are_warnings: true, ..self.refuse(warned) };
        Ok(assemble(config, gates, effective, warnings))
    }

    fn build_complaint(&self, text: String, subject: &Subject) -> Complaint {
        let paths = match subject {
            Subject::Fields(paths) => paths.clone(),
            Subject::Args { profile, plugin, fields } => {
                let args = child(&self.named(&index("profiles", *profile), "pluginConfig", plugin), "args");
                let fields = fields.iter().map(|field| child(&args, field));
                let fields: Vec<String> = fields.collect();
                if fields.is_empty() { vec![args] } else { fields }
            }
            Subject::Plugin { profile, point, plugin } => {
                let plugins = child(&index("profiles", *profile), "plugins");
                vec![self.named(&child(&plugins, point), "enabled", plugin)]
            }
            Subject::Point { profile, point } => {
                vec![child(&child(&index("profiles", *profile), "plugins"), point)]
            }
        };
        let mut places: Vec<Place> = Vec::new();
        for path in paths {
            let place = Place::find(self.text, self.root.locate(&path));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Complaint { step: Step::Build, text, places }
    }

    /// The path of the last entry of a list of the file whose name is `name`; the list's if there is none.
    fn named(&self, parent: &str, list: &str, name: &str) -> String {
        let path = child(parent, list);
        let node = self.root.resolve(&path);
        let position = match node.map(|node| &node.value) {
            Some(Value::List(items)) => items.iter().rposition(|item| {
                item.get("name").is_some_and(|entry| entry.value.value == Value::Text(name.to_owned()))
            }),
            _ => None,
        };
        match position {
            Some(position) => index(&path, position),
            None => path,
        }
    }
}

fn running_profile(profile: KubeSchedulerProfile) -> Profile {
    Profile {
        scheduler_name: Str::from(profile.scheduler_name.unwrap_or_default()),
        percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score,
        plugins: profile.plugins.unwrap_or_default(),
        plugin_config: profile
            .plugin_config
            .into_iter()
            .map(|config| PluginConfig { name: config.name, args: config.args.encode() })
            .collect(),
    }
}
