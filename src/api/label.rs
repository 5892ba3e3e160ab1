//! What is a valid label key, a valid label value and a valid name of an object, and what is said about one that is not.
//!
//! Follows `k8s.io/apimachinery/pkg/api/validate/content`.

const NAME_LENGTH_MAX: usize = 63;
const SUBDOMAIN_LENGTH_MAX: usize = 253;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                              '-' or '.', and must start and end with an alphanumeric character (e.g. \
                              'example.com', regex used for validation is \
                              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a label key (a qualified name); empty if nothing is.
pub fn key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors
                    .extend(subdomain_errors(prefix).into_iter().map(|error| format!("prefix part {error}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LENGTH_MAX {
        errors.push(format!("name part must be no more than {NAME_LENGTH_MAX} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME_RULE}"));
    }
    errors
}

/// What is wrong with a label value; empty if nothing is.
pub fn value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > NAME_LENGTH_MAX {
        errors.push(format!("must be no more than {NAME_LENGTH_MAX} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE_RULE.to_owned());
    }
    errors
}

/// What is wrong with the name of an object; empty if nothing is. Most kinds want a DNS subdomain.
pub fn name_errors(name: &str) -> Vec<String> {
    subdomain_errors(name)
}

/// What is wrong with the name of a namespace; empty if nothing is.
pub fn namespace_errors(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > NAME_LENGTH_MAX {
        errors.push(format!("must be no more than {NAME_LENGTH_MAX} bytes"));
    }
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !is_bounded(name, is_inner, |c| c != '-') {
        errors.push(LABEL_RULE.to_owned());
    }
    errors
}

fn subdomain_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH_MAX {
        errors.push(format!("must be no more than {SUBDOMAIN_LENGTH_MAX} bytes"));
    }
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !text.split('.').all(|label| is_bounded(label, is_inner, |c| c != '-')) {
        errors.push(SUBDOMAIN_RULE.to_owned());
    }
    errors
}

/// Alphanumeric characters, `-`, `_` and `.`, with alphanumeric ends; any length.
fn is_name(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    is_bounded(text, is_inner, |c| c.is_ascii_alphanumeric())
}

fn is_bounded(text: &str, is_inner: impl Fn(char) -> bool, is_end: impl Fn(char) -> bool) -> bool {
    text.chars().all(is_inner) && text.starts_with(&is_end) && text.ends_with(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_with_an_optional_domain() {
        for key in
            ["a", "simple", "now-with-dashes", "1-starts-with-num", "example.com/simple", "1.2.3.4/5678"]
        {
            assert_eq!(key_errors(key), Vec::<String>::new(), "{key}");
        }
        for key in ["", "nospecialchars%^=@", "cantendwithadash-", "only/one/slash", "Example.com/abc", "/x"]
        {
            assert_ne!(key_errors(key), Vec::<String>::new(), "{key}");
        }
        assert_eq!(key_errors("/x"), ["prefix part must be non-empty"]);
    }

    #[test]
    fn names_of_objects_are_subdomains_and_those_of_namespaces_labels() {
        assert!(name_errors("web-0.example.com").is_empty());
        for wrong in ["", "A", "a_b", "a/b", "-a", "a-", "a..b", "a b"] {
            assert_eq!(name_errors(wrong), [SUBDOMAIN_RULE], "{wrong:?}");
        }
        assert!(namespace_errors("kube-system").is_empty());
        for wrong in ["", "a.b", "A", "a-"] {
            assert_eq!(namespace_errors(wrong), [LABEL_RULE], "{wrong:?}");
        }
        assert_eq!(namespace_errors(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }

    #[test]
    fn values_may_be_empty_and_have_63_characters_at_most() {
        for value in ["", "a", "MyValue", "v1.2_3-4", &"a".repeat(63)] {
            assert_eq!(value_errors(value), Vec::<String>::new(), "{value}");
        }
        assert_eq!(value_errors(&"a".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(value_errors("-5").len(), 1);
    }
}
