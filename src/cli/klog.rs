//! Log lines as Kubernetes components write them: klog's text, or component-base's JSON, on standard error.
//!
//! An event's field `v` is its verbosity; without one it is 0, or 4 and 6 for debug and trace. Lines above `-v` are not
//! written.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// klog's text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes lines.
#[derive(Debug)]
pub(super) struct Klog {
    pub(super) format: LogFormat,
    pub(super) verbosity: u64,
}

#[derive(Debug, Default)]
struct Fields {
    message: String,
    /// Where it comes from, if it comes from the older `log` crate.
    origin: (Option<String>, Option<u64>),
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    /// File and line, of the file the name alone.
    fn caller(&self, (file, line): (&str, u64)) -> String {
        let file = self.origin.0.as_deref().unwrap_or(file);
        let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
        format!("{file}:{}", self.origin.1.unwrap_or(line))
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(message)) => self.message = message,
            ("v", _) => {}
            ("log.file", Value::String(file)) => self.origin.0 = Some(file),
            ("log.line", Value::Number(number)) => self.origin.1 = number.as_u64(),
            ("log.target" | "log.module_path", _) => {}
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::String(value.to_owned()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

/// The verbosity alone, without a look at the rest: most lines are not written.
#[derive(Debug, Default)]
struct Verbosity(Option<u64>);

impl Visit for Verbosity {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "v" {
            self.0 = Some(value);
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record_u64(field, u64::try_from(value).unwrap_or_default());
    }
}

impl<S: Subscriber> Layer<S> for Klog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // It says for each connection what is said once.
        if metadata.target().starts_with("kube_client::client::tls") {
            return;
        }
        let by_level = match *metadata.level() {
            Level::DEBUG => 4,
            Level::TRACE => 6,
            _ => 0,
        };
        let mut verbosity = Verbosity::default();
        event.record(&mut verbosity);
        let verbosity = verbosity.0.unwrap_or(by_level);
        if verbosity > self.verbosity {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let own = (metadata.file().unwrap_or_default(), metadata.line().unwrap_or_default().into());
        let caller = fields.caller(own);
        #[expect(clippy::disallowed_methods, reason = "a log line has its time")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = match self.format {
            LogFormat::Text => text(*metadata.level(), now.as_micros(), &caller, &fields),
            LogFormat::Json => json_line(*metadata.level(), now.as_micros(), &caller, verbosity, fields),
        };
        // If nobody can be told, there is nothing to do about it.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

fn text(level: Level, micros: u128, caller: &str, fields: &Fields) -> String {
    let letter = match level {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        _ => 'I',
    };
    let at = i64::try_from(micros).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    let at = at.unwrap_or_default().to_zoned(TimeZone::UTC);
    let mut line = format!(
        "{letter}{} {:>7} {caller}] {:?}",
        at.strftime("%m%d %H:%M:%S%.6f"),
        std::process::id(),
        fields.message
    );
    for (name, value) in &fields.others {
        let _ = match value {
            Value::String(text) => write!(line, " {name}={text:?}"),
            other => write!(line, " {name}={other}"),
        };
    }
    line
}

fn json_line(level: Level, micros: u128, caller: &str, verbosity: u64, fields: Fields) -> String {
    let mut line = Map::new();
    // Milliseconds with a fraction, as component-base has them.
    #[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 fit")]
    line.insert("ts".to_owned(), json!(micros as f64 / 1000.0));
    line.insert("caller".to_owned(), json!(caller));
    line.insert("msg".to_owned(), json!(fields.message));
    // Errors have none.
    if level != Level::ERROR {
        line.insert("v".to_owned(), json!(verbosity));
    }
    for (name, value) in fields.others {
        line.insert(name.to_owned(), value);
    }
    Value::Object(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields {
            message: "Successfully bound pod to node".to_owned(),
            origin: (None, None),
            others: vec![("pod", json!("default/a-1")), ("evaluatedNodes", json!(3))],
        }
    }

    #[test]
    fn a_line_has_the_header_of_klog_and_quoted_values() {
        let line = text(Level::INFO, 1_796_061_283_123_456, "meter.rs:12", &fields());
        let (head, rest) = line.split_once("] ").unwrap_or_default();
        assert!(head.starts_with("I1130 17:54:43.123456 "), "{head}");
        assert!(head.ends_with(" meter.rs:12"), "{head}");
        assert_eq!(rest, r#""Successfully bound pod to node" pod="default/a-1" evaluatedNodes=3"#);
    }

    #[test]
    fn what_the_older_log_crate_says_has_its_own_place() {
        let mut fields = fields();
        assert_eq!(fields.caller(("src/cli/klog.rs", 7)), "klog.rs:7");
        fields.origin = (Some("/somewhere/rustls/src/client/hs.rs".to_owned()), Some(42));
        assert_eq!(fields.caller(("", 0)), "hs.rs:42");
    }

    #[test]
    fn a_json_line_has_the_keys_of_component_base() {
        let line = json_line(Level::INFO, 1_796_061_283_123_456, "meter.rs:12", 2, fields());
        let expected = r#"{"ts":1796061283123.456,"caller":"meter.rs:12","msg":"Successfully bound pod to node","v":2,"pod":"default/a-1","evaluatedNodes":3}"#;
        assert_eq!(line, expected);
    }
}
