//! What the client sends to a real server on this machine, and what it says of its answers. The texts are those of
//! Go's `net/http` for the same server.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::api::Duration;
use crate::api::objects::Pod;
use crate::driver::extender::HttpTransport;
use crate::driver::sandbox::simulator::ExtenderTransport;
use crate::framework::extender::{Extender, ExtenderAnswer, ExtenderTls};

const CA: &str = include_str!("../../../../tests/data/tls/ca.pem");
const SERVER: &str = include_str!("../../../../tests/data/tls/server.pem");
const SERVER_KEY: &str = include_str!("../../../../tests/data/tls/server.key");
const CLIENT: &str = include_str!("../../../../tests/data/tls/client.pem");
const CLIENT_KEY: &str = include_str!("../../../../tests/data/tls/client.key");

/// A server that takes one connection, and what it is sent there.
struct Server {
    address: SocketAddr,
    request: JoinHandle<String>,
}

impl Server {
    /// Serves one connection with `serve`.
    fn start(serve: impl FnOnce(TcpStream) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let request = std::thread::Builder::new()
            .name("test server".to_owned())
            .spawn(move || serve(listener.accept().unwrap().0))
            .unwrap();
        Self { address, request }
    }

    /// Answers with these bytes and closes the connection.
    fn answering(response: &'static str) -> Self {
        Self::start(move |mut stream| {
            let request = read_request(&mut stream);
            stream.write_all(response.as_bytes()).unwrap();
            request
        })
    }

    /// The same over TLS. Trouble in the handshake is for the client to tell.
    fn with_tls(config: ServerConfig) -> Self {
        Self::start(move |stream| {
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            if stream.conn.complete_io(&mut stream.sock).is_err() {
                // The alert is out; hanging up before the client has read it would be an error of its own.
                let _ = stream.sock.read_to_end(&mut Vec::new());
                return String::new();
            }
            let request = read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
            stream.conn.send_close_notify();
            let _ = stream.flush();
            request
        })
    }
}

/// Reads headers and the body of the length that they tell.
fn read_request(stream: &mut impl Read) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with("\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        text.push(char::from(byte[0]));
    }
    let headers = text.to_ascii_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    let _ = stream.read_exact(&mut body);
    text + &String::from_utf8(body).unwrap()
}

fn extender(url_prefix: String) -> Extender {
    Extender { url_prefix, bind_verb: "bind".to_owned(), ..Extender::default() }
}

fn call(extender: &Extender) -> ExtenderAnswer {
    let pod = serde_saphyr::from_str::<Pod>("{metadata: {namespace: default, name: web}}").unwrap();
    let call = extender.bind_call(0, &pod, &"a".into());
    HttpTransport::new(std::slice::from_ref(extender)).unwrap().call(&call)
}

fn at(server: &Server) -> Extender {
    extender(format!("http://{}/ext/", server.address))
}

/// What the client says of a server that sends this.
fn answer_to(response: &'static str) -> ExtenderAnswer {
    call(&at(&Server::answering(response)))
}

fn ok(body: &str) -> ExtenderAnswer {
    ExtenderAnswer::Http { status: 200, body: body.to_owned() }
}

fn failed(extender: &Extender, reason: &str) -> ExtenderAnswer {
    ExtenderAnswer::Failed(format!("Post \"{}/bind\": {reason}", extender.url_prefix.trim_end_matches('/')))
}

#[test]
fn a_call_is_a_post_of_json() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{} x");
    assert_eq!(call(&at(&server)), ok("{} x"));
    let request = server.request.join().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /ext/bind HTTP/1.1\r\n"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
    assert!(head.contains(&format!("\r\nhost: {}", server.address)), "{head}");
    assert_eq!(body, r#"{"PodName":"web","PodNamespace":"default","PodUID":"","Node":"a"}"#);
}

#[test]
fn bodies_come_in_every_form() {
    assert_eq!(
        answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        ok("{}")
    );
    assert_eq!(answer_to("HTTP/1.0 200 OK\r\n\r\n{\"Error\":\"\"}"), ok("{\"Error\":\"\"}"));
    assert_eq!(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ok(""));
}

#[test]
fn of_another_status_the_body_is_not_read() {
    let answer = answer_to("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\n{");
    assert_eq!(answer, ExtenderAnswer::Http { status: 500, body: String::new() });
    let answer = answer_to("HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(answer, ExtenderAnswer::Http { status: 204, body: String::new() });
}

#[test]
fn a_body_that_breaks_off_is_an_error_unless_its_value_is_complete() {
    let complete = answer_to("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{} ");
    assert_eq!(complete, ok("{} "));
    let cut = answer_to("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Error\":");
    assert_eq!(cut, ExtenderAnswer::Failed("unexpected EOF".to_owned()));
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let extender = extender(format!("http://{address}/"));
    let refused = format!("dial tcp {address}: connect: connection refused");
    assert_eq!(call(&extender), failed(&extender, &refused));
}

#[test]
fn a_server_that_does_not_answer_in_time() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let server = Server::start(move |mut stream| {
        let request = read_request(&mut stream);
        let _ = wait.recv();
        request
    });
    let extender = Extender { http_timeout: Duration::from_millis(100), ..at(&server) };
    let reason = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    assert_eq!(call(&extender), failed(&extender, reason));
    drop(release);
}

#[test]
fn a_server_that_does_not_end_its_answer_in_time() {
    let unfinished = |body: &'static str| {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let server = Server::start(move |mut stream| {
            let request = read_request(&mut stream);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{body}");
            let _ = wait.recv();
            request
        });
        let extender = Extender { http_timeout: Duration::from_millis(100), ..at(&server) };
        let answer = call(&extender);
        drop(release);
        answer
    };
    let reason = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
    assert_eq!(unfinished("{\"Error\":"), ExtenderAnswer::Failed(reason.to_owned()));
    assert_eq!(unfinished("{}"), ok("{}"));
}

#[test]
fn a_server_that_hangs_up() {
    let server = Server::start(|mut stream| read_request(&mut stream));
    let extender = at(&server);
    assert_eq!(call(&extender), failed(&extender, "EOF"));
}

#[test]
fn urls_that_lead_nowhere() {
    let extender = |url: &str| extender(url.to_owned());
    let ftp = extender("ftp://127.0.0.1/x");
    assert_eq!(call(&ftp), failed(&ftp, "unsupported protocol scheme \"ftp\""));
    let bare = extender("localhost/x");
    assert_eq!(call(&bare), failed(&bare, "unsupported protocol scheme \"\""));
    let unknown = extender("http://no-such-host.invalid:80");
    assert_eq!(call(&unknown), failed(&unknown, "dial tcp: lookup no-such-host.invalid: no such host"));
    assert!(
        matches!(call(&extender("http://a b/")), ExtenderAnswer::Failed(text) if text.starts_with("parse "))
    );
}

fn server_config(asks_for_client: bool) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(SERVER_KEY.as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if asks_for_client {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(CA)).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        builder.with_client_cert_verifier(verifier.unwrap())
    } else {
        builder.with_no_client_auth()
    };
    builder.with_single_cert(vec![certificate(SERVER)], key).unwrap()
}

/// An extender with TLS at a server whose certificate is for `extender.test`.
fn over_tls(asks_for_client: bool, enable_https: bool, tls: ExtenderTls) -> (Extender, Server) {
    let server = Server::with_tls(server_config(asks_for_client));
    let url_prefix = format!("https://{}/ext", server.address);
    (Extender { enable_https, tls: Some(tls), ..extender(url_prefix) }, server)
}

fn trusting_ca() -> ExtenderTls {
    ExtenderTls { server_name: "extender.test".to_owned(), ca_data: CA.into(), ..ExtenderTls::default() }
}

#[test]
fn a_server_is_checked_by_the_authority_and_the_name_of_the_configuration() {
    let (extender, server) = over_tls(false, true, trusting_ca());
    assert_eq!(call(&extender), ok("{}"));
    let request = server.request.join().unwrap().to_ascii_lowercase();
    assert!(request.starts_with("post /ext/bind http/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\nhost: {}\r\n", server.address)), "{request}");

    let (extender, _server) =
        over_tls(false, true, ExtenderTls { server_name: "other.test".to_owned(), ..trusting_ca() });
    let reason =
        "tls: failed to verify certificate: x509: certificate is valid for extender.test, not other.test";
    assert_eq!(call(&extender), failed(&extender, reason));

    let (extender, _server) =
        over_tls(false, true, ExtenderTls { server_name: String::new(), ..trusting_ca() });
    let reason = "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it \
                  doesn't contain any IP SANs";
    assert_eq!(call(&extender), failed(&extender, reason));
}

#[test]
fn a_server_is_not_checked_where_nothing_is_there_to_check_it_by_or_the_configuration_says_so() {
    let (extender, _server) = over_tls(false, true, ExtenderTls::default());
    assert_eq!(call(&extender), ok("{}"));
    let (extender, _server) =
        over_tls(false, false, ExtenderTls { insecure: true, ..ExtenderTls::default() });
    assert_eq!(call(&extender), ok("{}"));
    // Without enableHTTPS the machine's own authorities count. (Go looks at the name first and complains of that.)
    let (extender, _server) = over_tls(false, false, ExtenderTls::default());
    let reason = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(call(&extender), failed(&extender, reason));
}

#[test]
fn a_client_shows_its_certificate() {
    let known = ExtenderTls { cert_data: CLIENT.into(), key_data: CLIENT_KEY.into(), ..trusting_ca() };
    let (extender, _server) = over_tls(true, true, known);
    assert_eq!(call(&extender), ok("{}"));
    let (extender, _server) = over_tls(true, true, trusting_ca());
    assert_eq!(call(&extender), failed(&extender, "remote error: tls: certificate required"));
}

#[test]
fn certificates_may_be_in_files() {
    let path = |name: &str| format!("{}/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let files = ExtenderTls {
        ca_file: path("ca.pem"),
        cert_file: path("client.pem"),
        key_file: path("client.key"),
        server_name: "extender.test".to_owned(),
        ..ExtenderTls::default()
    };
    let (extender, _server) = over_tls(true, true, files);
    assert_eq!(call(&extender), ok("{}"));
}

#[test]
fn a_server_that_speaks_no_tls() {
    let server = Server::start(|mut stream| {
        let mut bytes = [0; 16];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        String::new()
    });
    let extender = Extender { enable_https: true, ..extender(format!("https://{}", server.address)) };
    assert_eq!(call(&extender), failed(&extender, "http: server gave HTTP response to HTTPS client"));
}

#[test]
fn certificates_that_do_not_fit_are_found_before_any_call() {
    let problem = |tls: ExtenderTls| {
        let extender = Extender { tls: Some(tls), ..extender("https://x/".to_owned()) };
        HttpTransport::new(&[extender]).unwrap_err().to_string()
    };
    let none = ExtenderTls::default;
    assert_eq!(
        problem(ExtenderTls { insecure: true, ..trusting_ca() }),
        "extender \"https://x/\": specifying a root certificates file with the insecure flag is not allowed"
    );
    assert_eq!(
        problem(ExtenderTls { ca_data: b"no certificate".to_vec(), ..none() }),
        "extender \"https://x/\": unable to load root certificates: unable to parse bytes as PEM block"
    );
    assert!(
        problem(ExtenderTls { ca_file: "/no/such/file".to_owned(), ..none() })
            .starts_with("extender \"https://x/\": open /no/such/file: No such file or directory")
    );
    let mismatched = ExtenderTls { cert_data: CLIENT.into(), key_data: SERVER_KEY.into(), ..none() };
    assert!(problem(mismatched).starts_with("extender \"https://x/\": tls: "));
    let no_certificate = ExtenderTls { cert_data: b"x".to_vec(), key_data: CLIENT_KEY.into(), ..none() };
    assert_eq!(
        problem(no_certificate),
        "extender \"https://x/\": tls: failed to find any PEM data in certificate input"
    );
}
