//! Flags of `schedscope serve` and `schedscope attach`: kube-scheduler's, where they apply.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::{ConsoleArgs, GateArgs, RecordArgs};
use super::klog::LogFormat;

/// `schedscope serve`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 ended by SIGTERM or SIGINT; 1 the lease was lost, or a second signal came; 2 wrong input or command line."
)]
pub struct ServeArgs {
    /// A KubeSchedulerConfiguration; the default one if there is none
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The kubeconfig; clientConnection.kubeconfig without it, then KUBECONFIG and ~/.kube/config, and in a pod its
    /// service account
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The address of the API server, in place of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    /// The feature gates that hold.
    #[command(flatten)]
    pub gates: GateArgs,
    /// Requests a second to the API server; clientConnection.qps without it
    #[arg(long, value_name = "N")]
    pub kube_api_qps: Option<f64>,
    /// Requests at once; clientConnection.burst without it
    #[arg(long, value_name = "N")]
    pub kube_api_burst: Option<u32>,
    /// The election.
    #[command(flatten)]
    pub election: ElectionArgs,
    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Whether it is recorded.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Opens a Unix socket for `schedscope attach`; without a path it is schedscope/console.sock in XDG_RUNTIME_DIR
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    pub console_socket: Option<Option<PathBuf>>,
    /// Serves a schedulerName although somebody else holds the lease of a scheduler for it
    #[arg(long)]
    pub serve_anyway: bool,
    /// Every deed goes into this file as well, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// How much is logged; pods and their nodes from 2 on
    #[arg(short = 'v', long = "v", value_name = "N", default_value_t = 0)]
    pub verbosity: u64,
    /// How log lines are written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub logging_format: LogFormat,
}

/// The election; without a flag it is as the configuration says.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Leader election")]
pub struct ElectionArgs {
    /// Whether a lease is held before anything is scheduled; true by default
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: Option<bool>,
    /// How long others wait before they take a lease over that is not renewed; 15s by default
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub leader_elect_lease_duration: Option<Duration>,
    /// How long the leader tries to renew before it gives up; 10s by default
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub leader_elect_renew_deadline: Option<Duration>,
    /// How long is waited between two tries; 2s by default
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub leader_elect_retry_period: Option<Duration>,
    /// The kind of the lock
    #[arg(long, value_name = "KIND", value_parser = ["leases"])]
    pub leader_elect_resource_lock: Option<String>,
    /// The name of the lease; kube-scheduler by default
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_name: Option<String>,
    /// The namespace of the lease; kube-system by default
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_namespace: Option<String>,
}

/// The HTTPS server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Secure serving")]
pub struct ServerArgs {
    /// The address that is listened on
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub bind_address: IpAddr,
    /// The port; 0 serves nothing
    #[arg(long, value_name = "PORT", default_value_t = 10259)]
    pub secure_port: u16,
    /// The server's certificate, with those between it and its authority
    #[arg(long, value_name = "FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Where a certificate is made if none is given; in memory without it
    #[arg(long, value_name = "DIR")]
    pub cert_dir: Option<PathBuf>,
    /// The authority of client certificates; looked up in the cluster without it
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// The front proxy.
    #[command(flatten)]
    pub proxy: ProxyArgs,
    /// The kubeconfig for TokenReviews; in a pod its service account without it
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Does not look authorities up in kube-system/extension-apiserver-authentication
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub authentication_skip_lookup: bool,
    /// The kubeconfig for SubjectAccessReviews; in a pod its service account without it
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// What everybody may read
    #[arg(long, value_name = "PATHS", value_delimiter = ',', default_value = "/healthz,/readyz,/livez")]
    pub authorization_always_allow_paths: Vec<String>,
}

/// A front proxy, which says in headers who asks.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Secure serving")]
pub struct ProxyArgs {
    /// The authority of front proxies, whose headers are believed; looked up in the cluster without it
    #[arg(long, value_name = "FILE")]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// The common names that a front proxy may have; any without it
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// Headers with the user's name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "x-remote-user")]
    pub requestheader_username_headers: Vec<String>,
    /// Headers with the user's uid
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_uid_headers: Vec<String>,
    /// Headers with the user's groups
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "x-remote-group")]
    pub requestheader_group_headers: Vec<String>,
    /// What headers with anything else begin with
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "x-remote-extra-")]
    pub requestheader_extra_headers_prefix: Vec<String>,
}

/// `schedscope attach`.
#[derive(Clone, Debug, Args)]
pub struct AttachArgs {
    /// The socket of the instance; schedscope/console.sock in XDG_RUNTIME_DIR without it
    #[arg(long, value_name = "PATH", alias = "console-socket")]
    pub socket: Option<PathBuf>,
    /// Takes the controls, if nobody has them; :take does so later
    #[arg(long)]
    pub operate: bool,
    /// How the console looks.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

fn duration(text: &str) -> Result<Duration, String> {
    crate::tui::commands::parse_duration(text)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "flags that cannot be read are a failure of the test")]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Serve {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn the_socket_for_consoles_needs_no_path() {
        let socket = |flags: &[&str]| {
            let words = ["serve"].iter().chain(flags);
            Serve::try_parse_from(words).unwrap().args.console_socket
        };
        assert_eq!(socket(&[]), None);
        assert_eq!(socket(&["--console-socket"]), Some(None));
        assert_eq!(socket(&["--console-socket", "-v", "2"]), Some(None));
        assert_eq!(socket(&["--console-socket", "a/b.sock"]), Some(Some(PathBuf::from("a/b.sock"))));
    }
}
