//! How clients find the server: a token, and a kubeconfig.

use rustls::crypto::ring;

/// A token that nobody guesses: 128 random bits; `None` if the system has none.
pub(super) fn token() -> Option<String> {
    let mut bytes = [0; 16];
    ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A kubeconfig, in JSON, which is YAML as well.
pub(super) fn kubeconfig(url: &str, cert: &str, token: &str) -> String {
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "schedscope",
            "cluster": {"server": url, "certificate-authority-data": base64(cert.as_bytes())},
        }],
        "users": [{"name": "schedscope", "user": {"token": token}}],
        "contexts": [{
            "name": "schedscope",
            "context": {"cluster": "schedscope", "user": "schedscope", "namespace": "default"},
        }],
        "current-context": "schedscope",
    });
    format!("{config:#}\n")
}

/// RFC 4648.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| chunk.get(at).copied().map_or(0, u32::from));
        let bits = a << 16 | b << 8 | c;
        for (n, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS.get((bits >> shift & 63) as usize).filter(|_| n <= chunk.len());
            text.push(letter.map_or('=', |letter| char::from(*letter)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn two_tokens_differ() {
        let [a, b] = [token(), token()];
        assert!(a.as_ref().is_some_and(|token| token.len() == 32) && a != b);
    }
}
