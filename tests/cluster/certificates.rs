//! Certificates: of clients and of front proxies, by files and by what the cluster says, of the server itself and of this
//! program, and that each is taken over when it changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::{Client, Config};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    generate_simple_self_signed,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{ControlPlane, Options, is_skipped, wait_for};
use super::served::Served;

/// An authority with a file of its own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
    folder: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let file = folder.join(format!("{name}.crt"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file, folder: folder.to_owned() }
    }

    /// A client's certificate and key in files of that name.
    fn client(&self, file: &str, name: &str, group: &str) -> Identity {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        if !group.is_empty() {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let identity = Identity {
            cert: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        std::fs::write(&identity.key, key.serialize_pem()).unwrap();
        std::fs::write(&identity.cert, cert.pem()).unwrap();
        identity
    }
}

#[derive(Clone)]
struct Identity {
    cert: PathBuf,
    key: PathBuf,
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Asks with a certificate, if any; `None` if there is no connection. `root` is the one certificate that the server may
/// have.
fn ask(
    cluster: &ControlPlane,
    served: &Served,
    identity: Option<&Identity>,
    headers: &[(&str, &str)],
    root: Option<&Path>,
) -> Option<(u16, String)> {
    cluster.runtime().block_on(async {
        let url = format!("https://localhost:{}", served.port);
        let mut config = Config::new(url.parse().unwrap());
        match root {
            Some(root) => {
                let der = CertificateDer::from_pem_file(root).unwrap();
                config.root_cert = Some(vec![der.to_vec()]);
            }
            None => config.accept_invalid_certs = true,
        }
        if let Some(identity) = identity {
            config.auth_info.client_certificate = Some(text(&identity.cert));
            config.auth_info.client_key = Some(text(&identity.key));
        }
        let client = Client::try_from(config).unwrap();
        let mut request = http::Request::get("/metrics");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = client.send(request.body(kube::client::Body::empty()).unwrap()).await.ok()?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, String::from_utf8(bytes.to_vec()).unwrap()))
    })
}

fn status(
    cluster: &ControlPlane,
    served: &Served,
    identity: Option<&Identity>,
    headers: &[(&str, &str)],
) -> u16 {
    ask(cluster, served, identity, headers, None).map_or(0, |(status, _)| status)
}

/// Lets a group read metrics.
fn let_read(cluster: &ControlPlane, group: &str) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "metrics"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    });
    cluster.create("clusterroles", role);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "metrics"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics"},
    });
    cluster.create("clusterrolebindings", binding);
}

#[test]
fn a_client_certificate_of_the_given_authority_counts_and_another_authority_is_taken_over() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    let_read(&cluster, "readers");
    let folder = TempDir::new().unwrap();
    let (first, second) = (Authority::new(folder.path(), "first"), Authority::new(folder.path(), "second"));
    let file = folder.path().join("clients.crt");
    std::fs::copy(&first.file, &file).unwrap();
    let served = Served::start(&cluster, &["--leader-elect=false", "--client-ca-file", &text(&file)]);
    let reader = first.client("reader", "ann", "readers");
    let stranger = first.client("stranger", "bob", "");
    let other = second.client("other", "ann", "readers");
    let of = |identity| status(&cluster, &served, Some(identity), &[]);
    assert_eq!((of(&reader), of(&stranger), of(&other)), (200, 403, 401));
    assert_eq!(status(&cluster, &served, None, &[]), 403);
    let (_, refusal) = ask(&cluster, &served, Some(&stranger), &[], None).unwrap();
    assert!(refusal.contains("User \\\"bob\\\" cannot get path"), "{refusal}");
    // A header of a proxy counts for nothing from somebody who is none.
    assert_eq!(
        status(
            &cluster,
            &served,
            Some(&stranger),
            &[("x-remote-user", "ann"), ("x-remote-group", "readers")]
        ),
        403
    );

    std::fs::copy(&second.file, &file).unwrap();
    wait_for("the other authority counts", Duration::from_secs(10), || {
        of(&other) == 200 && of(&reader) == 401
    });
    // What is no authority is told, and the one before stays.
    std::fs::write(&file, "nonsense").unwrap();
    wait_for("it is told", Duration::from_secs(10), || served.log().contains("Unable to load new content"));
    assert_eq!((of(&other), of(&reader)), (200, 401));
    let (_, metrics) = ask(&cluster, &served, Some(&other), &[], None).unwrap();
    let line = "workqueue_retries_total{name=\"DynamicCABundle-client-ca-bundle\"} ";
    let retries = metrics.lines().find_map(|known| known.strip_prefix(line));
    assert!(retries.is_some_and(|n| n != "0"), "{retries:?}");
}

#[test]
fn what_the_cluster_says_of_clients_and_front_proxies_counts() {
    if is_skipped() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (clients, proxies) =
        (Authority::new(folder.path(), "clients"), Authority::new(folder.path(), "proxies"));
    let flags = format!(
        "--client-ca-file={} --requestheader-client-ca-file={} --requestheader-allowed-names=front-proxy \
         --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
         --requestheader-extra-headers-prefix=X-Remote-Extra-",
        text(&clients.file),
        text(&proxies.file)
    );
    let cluster = ControlPlane::start(Options { flags: &flags, ..Options::default() });
    let_read(&cluster, "readers");
    let served = Served::start(&cluster, &["--leader-elect=false"]);
    let reader = clients.client("reader", "ann", "readers");
    let proxy = proxies.client("proxy", "front-proxy", "");
    let impostor = proxies.client("impostor", "somebody", "");
    let of = |identity, headers: &[(&str, &str)]| status(&cluster, &served, Some(identity), headers);
    wait_for("the cluster's authority counts", Duration::from_secs(20), || of(&reader, &[]) == 200);
    let ann: [(&str, &str); 2] = [("X-Remote-User", "ann"), ("X-Remote-Group", "readers")];
    assert_eq!(of(&proxy, &ann), 200);
    assert_eq!(of(&proxy, &[("X-Remote-User", "bob")]), 403);
    let (_, refusal) = ask(&cluster, &served, Some(&proxy), &[("X-Remote-User", "bob")], None).unwrap();
    assert!(refusal.contains("User \\\"bob\\\""), "{refusal}");
    // A proxy that says nothing is nobody, one of another name is turned away, and whoever is no proxy at all is not heard.
    assert_eq!(of(&proxy, &[]), 401);
    assert_eq!(of(&impostor, &ann), 401);
    assert_eq!(status(&cluster, &served, None, &ann), 403);

    // The queues that kube-scheduler has in this setting, and no others.
    let (_, metrics) = ask(&cluster, &served, Some(&reader), &[], None).unwrap();
    let names: Vec<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("workqueue_adds_total{name=\"")?.split('"').next())
        .collect();
    let expected = [
        "DynamicConfigMapCABundle-client-ca",
        "DynamicServingCertificateController",
        "RequestHeaderAuthRequestController",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_servers_certificate_is_made_where_it_is_wanted_and_a_new_one_is_taken_over() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    let folder = TempDir::new().unwrap();
    let certs = folder.path().join("certs");
    let served = Served::start(&cluster, &["--leader-elect=false", "--cert-dir", &text(&certs)]);
    let (cert, key) = (certs.join("kube-scheduler.crt"), certs.join("kube-scheduler.key"));
    assert_eq!((super::serve::mode_of(&cert), super::serve::mode_of(&key)), (0o644, 0o600));
    let first = folder.path().join("first.crt");
    std::fs::copy(&cert, &first).unwrap();
    let shows = |root: &Path| ask(&cluster, &served, None, &[], Some(root)).is_some();
    assert!(shows(&first));

    // The certificate comes before its key: until both are there, the old pair stays.
    let new = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let second = folder.path().join("second.crt");
    std::fs::write(&second, new.cert.pem()).unwrap();
    std::fs::copy(&second, &cert).unwrap();
    wait_for("it is told", Duration::from_secs(10), || served.log().contains("Unable to load new content"));
    assert!(shows(&first) && !shows(&second));
    std::fs::write(&key, new.signing_key.serialize_pem()).unwrap();
    wait_for("the new one is shown", Duration::from_secs(10), || shows(&second));
    assert!(!shows(&first));
    drop(served);

    // What is there is used by the next one.
    let served = Served::start(&cluster, &["--leader-elect=false", "--cert-dir", &text(&certs)]);
    assert!(ask(&cluster, &served, None, &[], Some(&second)).is_some());
}

/// A control plane that knows an authority of clients, one of whom is ann, and tells what was asked.
struct Known {
    folder: TempDir,
    authority: Authority,
    cluster: ControlPlane,
    own: Identity,
    /// Where a kubeconfig is to be.
    kubeconfig: PathBuf,
}

impl Known {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let authority = Authority::new(folder.path(), "clients");
        let flags = format!("--client-ca-file={}", text(&authority.file));
        let cluster = ControlPlane::start(Options { flags: &flags, has_audit: true, ..Options::default() });
        let own = authority.client("own", "ann", "system:masters");
        let kubeconfig = folder.path().join("kubeconfig");
        Self { folder, authority, cluster, own, kubeconfig }
    }
}

#[test]
fn a_client_certificate_of_the_kubeconfig_is_read_again() {
    if is_skipped() {
        return;
    }
    let Known { folder: _folder, authority, cluster, own, kubeconfig } = Known::start();
    let user = json!({"client-certificate": text(&own.cert), "client-key": text(&own.key)});
    std::fs::write(&kubeconfig, cluster.kubeconfig_text(&user)).unwrap();
    let flags = [
        "--leader-elect-lease-duration=4s",
        "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=1s",
    ];
    let served = Served::start_as(&cluster, &kubeconfig, &flags);
    let renews = |name: &str| {
        cluster.audit().iter().any(|line: &Value| {
            line["user"]["username"] == name
                && line["objectRef"]["resource"] == "leases"
                && line["verb"] == "update"
        })
    };
    wait_for("it renews its lease as the first", Duration::from_secs(20), || renews("ann"));
    authority.client("own", "bob", "system:masters");
    wait_for("it renews its lease as the second", Duration::from_secs(30), || renews("bob"));
    assert!(!served.log().contains("Leaderelection lost"), "{}", served.log());
}

#[test]
fn kubectls_flags_say_who_one_is() {
    if is_skipped() {
        return;
    }
    let Known { folder: _folder, authority: _, cluster, own, kubeconfig } = Known::start();
    std::fs::write(&kubeconfig, cluster.kubeconfig_text(&json!({}))).unwrap();
    let (cert, key) = (text(&own.cert), text(&own.key));
    let flags = ["--client-certificate", &cert, "--client-key", &key];
    let as_somebody = [
        "--as=bob",
        "--as-group=system:masters",
        "--as-uid=42",
        "--as-user-extra=reason=a",
        "--as-user-extra=reason=b",
    ];
    let flags: Vec<&str> = flags.into_iter().chain(as_somebody).collect();
    let live = super::harness::Live::start(&kubeconfig, &flags);
    let lines = cluster.audit();
    let line = lines.iter().find(|line| line["impersonatedUser"]["username"] == "bob").unwrap();
    assert_eq!(line["user"]["username"], "ann");
    let other = &line["impersonatedUser"];
    assert_eq!(other["uid"], "42");
    assert_eq!(other["extra"]["reason"], json!(["a", "b"]));
    assert_eq!(live.end(), Some(0));
}
