//! Credential plugins of kubeconfigs: a program that is asked who somebody is, again when that has run out.
//!
//! Follows `client-go/plugin/pkg/client/auth/exec`, with one thing more: while a console has the terminal, a plugin may
//! neither read from it nor write on it. Then `interactiveMode: IfAvailable` means that nothing can be asked, and
//! `Always` is refused. What a plugin prints may be a secret, so no error quotes it, and one that cannot ask is not
//! heard.

use std::io::IsTerminal as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;

/// Whether something else has the terminal by now.
#[derive(Clone, Debug, Default)]
pub struct Terminal(Arc<AtomicBool>);

impl Terminal {
    /// A console is about to open.
    pub fn take(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a plugin gives no credential.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// No command stands in the kubeconfig.
    #[error("the kubeconfig names no command for its credential plugin")]
    NoCommand,
    /// It wants to ask somebody, and the console is on the terminal.
    #[error(
        "the credential plugin {0} wants to ask something (interactiveMode: Always) while the console has the terminal: quit and start again, then it may ask"
    )]
    TerminalTaken(String),
    /// It wants to ask somebody, and nobody is there.
    #[error(
        "the credential plugin {0} wants to ask something (interactiveMode: Always), and standard input is no terminal"
    )]
    NoTerminal(String),
    /// It cannot be started.
    #[error("the credential plugin {command} of the kubeconfig cannot be started: {error}{hint}")]
    NotStarted {
        /// Its name.
        command: String,
        /// Why.
        error: std::io::Error,
        /// What the kubeconfig says about getting it, behind a dash.
        hint: String,
    },
    /// It ended with a failure.
    #[error("the credential plugin {command} of the kubeconfig has failed ({status})")]
    Failed {
        /// Its name.
        command: String,
        /// How.
        status: ExitStatus,
    },
    /// What it prints is no credential.
    #[error("what the credential plugin {command} of the kubeconfig prints cannot be used: {why}")]
    Unusable {
        /// Its name.
        command: String,
        /// What is wrong, without a quotation.
        why: &'static str,
    },
}

/// Who somebody is.
#[derive(Clone, Default)]
pub struct Credential {
    /// A bearer token.
    pub token: Option<String>,
    /// A certificate and its key, as PEM.
    pub pair: Option<(String, String)>,
    /// Until when it is good; without it until the server turns it down.
    expires: Option<Timestamp>,
}

impl Credential {
    /// Whether it is good at that time.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now <= expires)
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("expires", &self.expires).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<Timestamp>,
    #[serde(default)]
    token: String,
    #[serde(default)]
    client_certificate_data: String,
    #[serde(default)]
    client_key_data: String,
}

/// A plugin of a kubeconfig.
#[derive(Clone, Debug)]
pub struct Plugin {
    exec: ExecConfig,
    terminal: Terminal,
}

impl Plugin {
    /// That plugin, which has the terminal until somebody takes it.
    pub fn new(exec: ExecConfig, terminal: Terminal) -> Self {
        Self { exec, terminal }
    }

    fn command(&self) -> String {
        self.exec.command.clone().unwrap_or_default()
    }

    /// Whether it may ask somebody.
    fn is_interactive(&self, has_terminal: bool) -> Result<bool, PluginError> {
        let is_taken = self.terminal.is_taken();
        match self.exec.interactive_mode {
            Some(ExecInteractiveMode::Never) => Ok(false),
            Some(ExecInteractiveMode::Always) if is_taken => Err(PluginError::TerminalTaken(self.command())),
            Some(ExecInteractiveMode::Always) if !has_terminal => {
                Err(PluginError::NoTerminal(self.command()))
            }
            Some(ExecInteractiveMode::Always) => Ok(true),
            Some(ExecInteractiveMode::IfAvailable) | None => Ok(has_terminal && !is_taken),
        }
    }

    /// Asks it, and waits for it.
    ///
    /// # Errors
    /// It cannot be started, may not ask what it wants to, fails, or prints no credential.
    pub fn ask(&self) -> Result<Credential, PluginError> {
        let name = self.exec.command.as_deref().ok_or(PluginError::NoCommand)?;
        let is_interactive = self.is_interactive(std::io::stdin().is_terminal())?;
        let mut spec = json!({"interactive": is_interactive});
        if self.exec.provide_cluster_info {
            spec["cluster"] = json!(self.exec.cluster);
        }
        let asked = json!({"apiVersion": self.exec.api_version, "kind": "ExecCredential", "spec": spec});
        let variables = self.exec.env.iter().flatten();
        let variables = variables.filter_map(|entry| Some((entry.get("name")?, entry.get("value")?)));
        let output = Command::new(name)
            .args(self.exec.args.iter().flatten())
            .envs(variables)
            .env("KUBERNETES_EXEC_INFO", asked.to_string())
            .stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() })
            // It may say what is secret: only a person whom it asks hears it.
            .stderr(if is_interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .output()
            .map_err(|error| PluginError::NotStarted {
                command: name.to_owned(),
                error,
                hint: self.exec.install_hint.as_ref().map(|hint| format!(" — {hint}")).unwrap_or_default(),
            })?;
        if !output.status.success() {
            return Err(PluginError::Failed { command: name.to_owned(), status: output.status });
        }
        self.read(&output.stdout).map_err(|why| PluginError::Unusable { command: name.to_owned(), why })
    }

    fn read(&self, printed: &[u8]) -> Result<Credential, &'static str> {
        let printed: Printed = serde_json::from_slice(printed).map_err(|_| "it is no ExecCredential")?;
        if self.exec.api_version.is_some() && printed.api_version != self.exec.api_version {
            return Err("its apiVersion is not the one that the kubeconfig names");
        }
        let status = printed.status.ok_or("it has no status")?;
        let pair = match (status.client_certificate_data, status.client_key_data) {
            (cert, key) if cert.is_empty() && key.is_empty() => None,
            (cert, key) if cert.is_empty() || key.is_empty() => {
                return Err("of certificate and key it has only one");
            }
            pair => Some(pair),
        };
        let token = Some(status.token).filter(|token| !token.is_empty());
        if token.is_none() && pair.is_none() {
            return Err("it has neither a token nor a certificate");
        }
        Ok(Credential { token, pair, expires: status.expiration_timestamp })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn plugin(mode: Option<ExecInteractiveMode>, script: &str) -> Plugin {
        let exec = serde_json::from_value(json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "env": [{"name": "WORD", "value": "w"}],
        }));
        let mut exec: ExecConfig = exec.unwrap();
        exec.interactive_mode = mode;
        Plugin::new(exec, Terminal::default())
    }

    #[test]
    fn who_may_ask_is_decided_as_kubectl_does_and_a_console_counts_as_no_terminal() {
        let asks = |mode, has_terminal, is_taken| {
            let plugin = plugin(mode, "");
            if is_taken {
                plugin.terminal.take();
            }
            plugin.is_interactive(has_terminal).map_err(|error| error.to_string())
        };
        let if_available = Some(ExecInteractiveMode::IfAvailable);
        assert_eq!(asks(Some(ExecInteractiveMode::Never), true, false), Ok(false));
        assert_eq!(asks(if_available.clone(), true, false), Ok(true));
        assert_eq!(asks(if_available.clone(), false, false), Ok(false));
        assert_eq!(asks(if_available, true, true), Ok(false));
        assert_eq!(asks(None, true, true), Ok(false));
        let always = Some(ExecInteractiveMode::Always);
        assert_eq!(asks(always.clone(), true, false), Ok(true));
        let no_terminal = asks(always.clone(), false, false).unwrap_err();
        assert!(no_terminal.ends_with("standard input is no terminal"), "{no_terminal}");
        let taken = asks(always, true, true).unwrap_err();
        assert!(taken.contains("quit and start again"), "{taken}");
    }

    #[test]
    fn it_is_told_what_it_may_do_and_its_token_is_read() {
        let script = r#"
            test "$WORD" = w || exit 3
            case $KUBERNETES_EXEC_INFO in *'"interactive":false'*) ;; *) exit 4 ;; esac
            echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                   "status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"}}'"#;
        let credential = plugin(Some(ExecInteractiveMode::Never), script).ask().unwrap();
        assert_eq!(credential.token.as_deref(), Some("t"));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(credential.is_good(at("2025-12-31T23:59:59Z")));
        assert!(!credential.is_good(at("2026-01-01T00:00:01Z")));
        assert!(!format!("{credential:?}").contains("\"t\""));
    }

    #[test]
    fn what_it_prints_stays_out_of_errors() {
        for script in [
            "echo secret; exit 1",
            "echo secret",
            r#"echo '{"apiVersion": "secret", "status": {"token": "secret"}}'"#,
            r#"echo '{"apiVersion": "client.authentication.k8s.io/v1", "status": {"clientKeyData": "secret"}}'"#,
            r#"echo '{"apiVersion": "client.authentication.k8s.io/v1", "status": {}}'"#,
            r#"echo '{"apiVersion": "client.authentication.k8s.io/v1"}'"#,
        ] {
            let text = plugin(Some(ExecInteractiveMode::Never), script).ask().unwrap_err().to_string();
            assert!(text.contains("the credential plugin sh") && !text.contains("secret"), "{text}");
        }
    }
}
