//! Which cluster, as whom: what kubectl's connection flags and the kubeconfig say.
//!
//! Precedence is kubectl's: `--kubeconfig`, `KUBECONFIG`, `~/.kube/config`, and without any of these the service
//! account of the pod that the program runs in. Single flags override what the kubeconfig says. Secrets are never part
//! of a text that is made here.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::plugin::{PluginError, Terminal};
use super::renewing;

/// kubectl's connection flags.
#[derive(Clone, Default)]
pub struct Connection {
    /// The kubeconfig's path.
    pub kubeconfig: Option<PathBuf>,
    /// The context of it.
    pub context: Option<String>,
    /// The cluster of it.
    pub cluster: Option<String>,
    /// The user of it.
    pub user: Option<String>,
    /// The address of the API server.
    pub server: Option<String>,
    /// A bearer token. A secret.
    pub token: Option<String>,
    /// The user to act as.
    pub impersonate: Option<String>,
    /// The groups to act in.
    pub impersonate_groups: Vec<String>,
    /// The uid to act with.
    pub impersonate_uid: Option<String>,
    /// What else to say of whom to act as: keys with values.
    pub impersonate_extra: Vec<(String, String)>,
    /// The file of a client certificate.
    pub client_certificate: Option<PathBuf>,
    /// The file of its key. A secret.
    pub client_key: Option<PathBuf>,
    /// A name for basic authentication.
    pub username: Option<String>,
    /// The password. A secret.
    pub password: Option<String>,
    /// The file of the authority that the server's certificate is from.
    pub certificate_authority: Option<PathBuf>,
    /// The name that the server's certificate is for.
    pub tls_server_name: Option<String>,
    /// Whether the server's certificate is believed without a look.
    pub is_insecure: bool,
    /// How long the answer to a single request may take; watches are not bounded by it. Zero is for ever.
    pub request_timeout: Option<Duration>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token stays out of logs.
        f.debug_struct("Connection")
            .field("kubeconfig", &self.kubeconfig)
            .field("context", &self.context)
            .field("cluster", &self.cluster)
            .field("user", &self.user)
            .field("server", &self.server)
            .field("has_token", &self.token.is_some())
            .field("impersonate", &self.impersonate)
            .field("is_insecure", &self.is_insecure)
            .finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read, or does not say what was asked for.
    #[error("{place}: {error}")]
    Kubeconfig {
        /// Where it was looked for.
        place: String,
        /// What is wrong.
        error: String,
    },
    /// A flag has a value that cannot be.
    #[error("--{flag}: {error}")]
    Flag {
        /// Which flag.
        flag: &'static str,
        /// What is wrong.
        error: String,
    },
    /// Nothing says where the API server is.
    #[error(
        "there is no cluster: no kubeconfig ({kubeconfig}), and this is no pod of a cluster ({in_cluster}); name one with --kubeconfig or --server"
    )]
    NoCluster {
        /// Why there is no kubeconfig.
        kubeconfig: String,
        /// Why there is no service account.
        in_cluster: String,
    },
    /// The server does not answer, or turns the person away.
    #[error("{server}: {error}")]
    Server {
        /// The server's address.
        server: String,
        /// Why.
        error: String,
    },
    /// No client can be made of it.
    #[error("making the client: {0}")]
    Client(String),
}

/// Where a session is connected to, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The context of the kubeconfig, or `in-cluster`.
    pub context: String,
    /// Whether the context is one of a kubeconfig.
    pub is_of_kubeconfig: bool,
    /// As whom, as far as the kubeconfig says.
    pub user: String,
    /// The server's address.
    pub server: String,
    /// Whether the server's certificate is not looked at.
    pub is_insecure: bool,
}

/// What the flags come to.
pub async fn configure(connection: &Connection) -> Result<(Config, Target), ConnectError> {
    let options = KubeConfigOptions {
        context: connection.context.clone(),
        cluster: connection.cluster.clone(),
        user: connection.user.clone(),
    };
    let place = match &connection.kubeconfig {
        Some(path) => path.display().to_string(),
        None => "the kubeconfig".to_owned(),
    };
    let kubeconfig = match &connection.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let (mut config, mut target) = match kubeconfig {
        Ok(kubeconfig) => from_kubeconfig(kubeconfig, &options, &place).await?,
        Err(error) if connection.kubeconfig.is_some() || connection.context.is_some() => {
            // The client library names the file a second time.
            let error = match &error {
                KubeconfigError::ReadConfig(error, _) => error.to_string(),
                error => words(error),
            };
            return Err(ConnectError::Kubeconfig { place, error });
        }
        Err(error) => without_kubeconfig(connection, &error)?,
    };
    apply_flags(connection, &mut config, &mut target)?;
    Ok((config, target))
}

async fn from_kubeconfig(
    kubeconfig: Kubeconfig,
    options: &KubeConfigOptions,
    place: &str,
) -> Result<(Config, Target), ConnectError> {
    let context = options.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    let user = options.user.clone().or_else(|| {
        let named = kubeconfig.contexts.iter().find(|named| named.name == context)?;
        named.context.as_ref()?.user.clone()
    });
    let config = Config::from_custom_kubeconfig(kubeconfig, options)
        .await
        .map_err(|error| ConnectError::Kubeconfig { place: place.to_owned(), error: words(&error) })?;
    let target = Target {
        is_of_kubeconfig: !context.is_empty(),
        context,
        user: user.unwrap_or_default(),
        server: shown(&config.cluster_url),
        is_insecure: config.accept_invalid_certs,
    };
    Ok((config, target))
}

fn without_kubeconfig(
    connection: &Connection,
    kubeconfig: &(dyn std::error::Error + 'static),
) -> Result<(Config, Target), ConnectError> {
    let target = |context: &str, user: &str| Target {
        context: context.to_owned(),
        is_of_kubeconfig: false,
        user: user.to_owned(),
        server: String::new(),
        is_insecure: false,
    };
    match Config::incluster() {
        Ok(config) => Ok((config, target("in-cluster", "the pod's service account"))),
        Err(in_cluster) => match &connection.server {
            Some(server) => Ok((Config::new(address("server", server)?), target("--server", ""))),
            None => {
                Err(ConnectError::NoCluster { kubeconfig: words(kubeconfig), in_cluster: words(&in_cluster) })
            }
        },
    }
}

fn apply_flags(
    connection: &Connection,
    config: &mut Config,
    target: &mut Target,
) -> Result<(), ConnectError> {
    if let Some(server) = &connection.server {
        config.cluster_url = address("server", server)?;
    }
    if let Some(token) = &connection.token {
        config.auth_info.token = Some(token.clone().into());
        config.auth_info.token_file = None;
        config.auth_info.exec = None;
        config.auth_info.client_certificate = None;
        config.auth_info.client_certificate_data = None;
        "--token".clone_into(&mut target.user);
    }
    let auth = &mut config.auth_info;
    if let Some(name) = &connection.username {
        auth.username = Some(name.clone());
        target.user.clone_from(name);
    }
    if let Some(password) = &connection.password {
        auth.password = Some(password.clone().into());
    }
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    if let Some(path) = &connection.client_certificate {
        auth.client_certificate = Some(text(path));
        auth.client_certificate_data = None;
        "--client-certificate".clone_into(&mut target.user);
    }
    if let Some(path) = &connection.client_key {
        auth.client_key = Some(text(path));
        auth.client_key_data = None;
    }
    if let Some(uid) = &connection.impersonate_uid {
        auth.impersonate_uid = Some(uid.clone());
    }
    for (key, value) in &connection.impersonate_extra {
        let extra = auth.impersonate_user_extra.get_or_insert_default();
        extra.entry(key.clone()).or_default().push(value.clone());
    }
    if let Some(user) = &connection.impersonate {
        config.auth_info.impersonate = Some(user.clone());
        target.user.clone_from(user);
    }
    if !connection.impersonate_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(connection.impersonate_groups.clone());
    }
    if let Some(path) = &connection.certificate_authority {
        config.root_cert = None;
        config.root_cert_file = Some(path.clone());
    }
    if let Some(name) = &connection.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    config.accept_invalid_certs |= connection.is_insecure;
    // The server's wish for patience is seen to where requests are made, as client-go does.
    config.default_retry = false;
    target.server = shown(&config.cluster_url);
    target.is_insecure = config.accept_invalid_certs;
    Ok(())
}

/// Sees that the server answers and lets the person in.
///
/// # Errors
/// In the words that tell what to do about it.
pub async fn greet(client: &Client, target: &Target) -> Result<(), ConnectError> {
    let server = || target.server.clone();
    match client.apiserver_version().await {
        Ok(_) => Ok(()),
        // Who may not ask for the version may still list and watch.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        Err(kube::Error::Api(status)) => {
            Err(ConnectError::Server { server: server(), error: status.message.clone() })
        }
        Err(error) => Err(ConnectError::Server { server: server(), error: words(&error) }),
    }
}

/// The host's name, which tells instances of a scheduler apart.
pub fn host_name() -> String {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// A client for the configuration, which goes on when credentials change. A plugin that asks has the terminal until that
/// is taken.
///
/// # Errors
/// There is no credential, or it cannot be used.
pub async fn client(
    config: Config,
    connection: &Connection,
    terminal: &Terminal,
) -> Result<Client, ConnectError> {
    let patience = connection.request_timeout.filter(|timeout| !timeout.is_zero());
    renewing::client(config, terminal, patience).await.map_err(ConnectError::Client)
}

fn address(flag: &'static str, text: &str) -> Result<http::Uri, ConnectError> {
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    text.parse().map_err(|error: http::uri::InvalidUri| ConnectError::Flag { flag, error: error.to_string() })
}

/// The address without a name and a password in it.
fn shown(uri: &http::Uri) -> String {
    let text = uri.to_string();
    match (text.split_once("://"), uri.authority()) {
        (Some((scheme, rest)), Some(authority)) if authority.as_str().contains('@') => {
            let host = authority.as_str().rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{}", rest.strip_prefix(authority.as_str()).unwrap_or_default())
        }
        _ => text,
    }
}

/// An error with what caused it. What a credential plugin has printed and what stands in a kubeconfig is never part of
/// it: that may be a secret.
pub(crate) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(text) = discreet_words(error) {
        return text;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Words of our own for errors whose own words may hold secrets.
fn discreet_words(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(error) = error.downcast_ref::<PluginError>() {
            return Some(error.to_string());
        }
        match error.downcast_ref::<AuthError>() {
            Some(AuthError::AuthExecRun { out, .. }) => {
                let status = out.status;
                return Some(format!("the credential plugin of the kubeconfig has failed ({status})"));
            }
            Some(AuthError::AuthExecParse(error)) => {
                let place = place_of(error.location());
                return Some(format!(
                    "what the credential plugin of the kubeconfig prints cannot be read{place}"
                ));
            }
            Some(AuthError::AuthExec(_)) => {
                return Some("the credential plugin of the kubeconfig has failed".to_owned());
            }
            _ => {}
        }
        if let Some(KubeconfigError::Parse(error)) = error.downcast_ref::<KubeconfigError>() {
            return Some(format!("it is no kubeconfig{}", place_of(error.location())));
        }
        at = error.source();
    }
    None
}

fn place_of(location: Option<serde_saphyr::Location>) -> String {
    location.map_or_else(String::new, |at| format!(": line {}, column {}", at.line(), at.column()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_a_password() {
        let of = |text: &str| text.parse().map(|uri| shown(&uri)).unwrap_or_default();
        assert_eq!(of("https://ann:secret@api.example:6443/base"), "https://api.example:6443/base");
        assert_eq!(of("https://api.example:6443"), "https://api.example:6443/");
    }

    #[test]
    fn what_a_credential_plugin_prints_stays_out_of_errors() {
        use std::os::unix::process::ExitStatusExt as _;
        let out = std::process::Output {
            status: std::process::ExitStatus::from_raw(256),
            stdout: b"secret-out".to_vec(),
            stderr: b"secret-err".to_vec(),
        };
        let auth = AuthError::AuthExecRun { cmd: "plugin --password=secret".to_owned(), out: Box::new(out) };
        let text = words(&kube::Error::Auth(auth));
        assert!(text.starts_with("the credential plugin") && !text.contains("secret"), "{text}");
    }

    #[test]
    fn a_kubeconfig_that_cannot_be_read_is_not_quoted() {
        let text = "users:\n- name: a\n  user: {token: [secret-token]}\n";
        let error = Kubeconfig::from_yaml(text).err().map(|error| words(&error)).unwrap_or_default();
        assert!(error.starts_with("it is no kubeconfig") && !error.contains("secret"), "{error}");
    }
}
