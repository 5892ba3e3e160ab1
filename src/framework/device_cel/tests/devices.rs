//! How devices are read: domains, attributes that no selector understands, gates.

use crate::api::Str;
use crate::framework::device_cel::{Attribute, Device, DeviceSelector, Features, SelectorCache};

fn matches(expression: &str, device: &Device) -> Result<bool, String> {
    let selector =
        DeviceSelector::compile(expression, Features::default()).map_err(|error| error.to_string())?;
    selector.matches(device).map_err(|error| error.to_string())
}

fn with(attributes: Vec<(&str, Attribute)>) -> Device {
    Device::new("gpu.example.com", attributes, [], None)
}

#[test]
fn a_name_without_domain_belongs_to_the_driver() {
    let device = with(vec![("a", Attribute::Int(1)), ("other.com/a", Attribute::Int(2))]);
    assert_eq!(matches(r#"device.attributes["gpu.example.com"].a == 1"#, &device), Ok(true));
    assert_eq!(matches(r#"device.attributes["other.com"].a == 2"#, &device), Ok(true));
}

#[test]
fn a_missing_domain_is_an_empty_map() {
    let device = with(vec![]);
    assert_eq!(matches(r#"device.attributes["nope"].size() == 0"#, &device), Ok(true));
    assert_eq!(matches(r#""nope" in device.attributes"#, &device), Ok(false));
    assert_eq!(matches(r#"device.attributes["nope"].x"#, &device), Err("no such key: x".to_owned()));
    assert_eq!(matches(r#"device.capacity["nope"].x"#, &device).unwrap_err().lines().count(), 1);
}

#[test]
fn an_attribute_that_cannot_be_read_fails_every_selector() {
    let broken = with(vec![("v", Attribute::Version(Str::from("1.2"))), ("u", Attribute::Unset)]);
    assert_eq!(matches("true", &broken), Err("attribute u: unsupported attribute value".to_owned()));
    let version = with(vec![("v", Attribute::Version(Str::from("1.2")))]);
    let text = "attribute v: parse semantic version: No Major.Minor.Patch elements found";
    assert_eq!(matches("true", &version), Err(text.to_owned()));
}

#[test]
fn lists_need_their_gate() {
    let device = with(vec![("l", Attribute::Ints(vec![1, 2]))]);
    let expression = r#"device.attributes["gpu.example.com"].l.exists(x, x == 2)"#;
    let features = Features { list_type_attributes: true, ..Features::default() };
    assert_eq!(matches("true", &device), Err("attribute l: unsupported attribute value".to_owned()));
    let selector = DeviceSelector::compile(expression, features).unwrap();
    assert_eq!(selector.matches(&device), Ok(true));
    assert!(DeviceSelector::compile(expression, Features::default()).is_err());
}

#[test]
fn multiple_allocations_are_off_where_the_device_does_not_say() {
    let says = |value| Device::new("d", [], [], value);
    assert_eq!(matches("device.allowMultipleAllocations", &says(None)), Ok(false));
    assert_eq!(matches("device.allowMultipleAllocations", &says(Some(true))), Ok(true));
}

#[test]
fn a_cache_gives_the_same_answers_as_compiling() {
    let cache = SelectorCache::new(Features::default());
    let device = with(vec![]);
    for _ in 0..2 {
        let selector = cache.get_or_compile(r#"device.driver == "gpu.example.com""#).unwrap();
        assert_eq!(selector.matches(&device), Ok(true));
        assert_eq!(
            cache.get_or_compile("nope").unwrap_err(),
            DeviceSelector::compile("nope", Features::default()).unwrap_err()
        );
    }
    for number in 0..1000 {
        assert!(cache.get_or_compile(&format!("{number} == {number}")).is_ok());
    }
}
