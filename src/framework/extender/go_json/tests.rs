//! What the decoder says, against what a Go 1.26 program says that decodes the same text into the types of
//! `k8s.io/kube-scheduler/extender/v1` with `json.NewDecoder(strings.NewReader(text)).Decode(&value)`.

use serde_json::{Value, json};

use super::{GoType, decode};
use crate::framework::extender::schema;

fn filter(text: &str) -> Result<Value, String> {
    decode(text, &schema::FILTER_RESULT)
}

#[test]
fn keys_match_in_any_case_and_unknown_ones_are_passed_over() {
    let lower = filter(r#"{"nodenames":["a"],"error":"e","other":{"a":[{"b":"}"}]}}"#);
    assert_eq!(lower, Ok(json!({"Error": "e", "NodeNames": ["a"]})));
}

#[test]
fn null_empties_what_can_be_nil_and_leaves_the_rest() {
    assert_eq!(filter("null"), Ok(Value::Null));
    let nulls =
        filter(r#"{"NodeNames":["a"],"NodeNames":null,"Error":"e","Error":null,"FailedNodes":{"a":null}}"#);
    assert_eq!(nulls, Ok(json!({"Error": "e", "NodeNames": null, "FailedNodes": {"a": ""}})));
    assert_eq!(filter(r#"{"NodeNames":["a",null]}"#), Ok(json!({"Error": "", "NodeNames": ["a", ""]})));
}

#[test]
fn what_comes_twice_is_read_into_the_same_place() {
    let text = r#"{"Nodes":{"items":[{"metadata":{"name":"a","labels":{"x":"1"}}}]},
        "nodes":{"items":[{"metadata":{"labels":{"y":"2"}}},{"metadata":{"name":"b"}}]}}"#;
    let nodes = filter(text).map(|result| {
        let node = |index: usize| result["Nodes"]["items"][index]["metadata"].clone();
        (node(0)["name"].clone(), node(0)["labels"].clone(), node(1)["name"].clone())
    });
    assert_eq!(nodes, Ok((json!("a"), json!({"x": "1", "y": "2"}), json!("b"))));
    let shorter = filter(r#"{"NodeNames":["a","b"],"NodeNames":["c"]}"#);
    assert_eq!(shorter, Ok(json!({"Error": "", "NodeNames": ["c"]})));
    let maps = filter(r#"{"FailedNodes":{"a":"x"},"failednodes":{"b":"y"}}"#);
    assert_eq!(maps, Ok(json!({"Error": "", "FailedNodes": {"a": "x", "b": "y"}})));
    let text = r#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"}]},"a":{"NumPDBViolations":1}}}"#;
    let entry = decode(text, &schema::PREEMPTION_RESULT);
    assert_eq!(entry, Ok(json!({"NodeNameToMetaVictims": {"a": {"NumPDBViolations": 1}}})));
}

#[test]
fn quantities_may_be_numbers() {
    let text = r#"{"Nodes":{"items":[{"status":{"allocatable":{"cpu":1.5,"memory":" 1Gi ","pods":null,"x":"."}}}]}}"#;
    let read = filter(text).map(|result| result["Nodes"]["items"][0]["status"]["allocatable"].clone());
    assert_eq!(read, Ok(json!({"cpu": "1.5", "memory": "1Gi", "pods": null, "x": "."})));
}

#[test]
fn managed_fields_may_be_anything() {
    let text =
        r#"{"Nodes":{"items":[{"metadata":{"managedFields":[{"fieldsV1":[1,{"a":"]"}]}],"name":"n"}}]}}"#;
    let read = filter(text).map(|result| result["Nodes"]["items"][0]["metadata"]["name"].clone());
    assert_eq!(read, Ok(json!("n")));
}

#[test]
fn scores_are_whole_numbers() {
    let text = r#"[{"Host":"a","Score":-0},{"host":"b"},{"SCORE":9223372036854775807},null]"#;
    let read = decode(text, &schema::HOST_PRIORITY_LIST);
    let scores = json!([
        {"Host": "a", "Score": 0}, {"Host": "b"}, {"Host": "", "Score": i64::MAX}, {"Host": ""}
    ]);
    assert_eq!(read, Ok(scores));
}

#[test]
fn what_is_wrong_is_told_in_the_words_of_go() {
    let cases: &[(&GoType, &str, &str)] = &[
        (
            &schema::FILTER_RESULT,
            r#"[]"#,
            r#"json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"1"#,
            r#"json: cannot unmarshal number into Go value of type v1.ExtenderFilterResult"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"true"#,
            r#"json: cannot unmarshal bool into Go value of type v1.ExtenderFilterResult"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#""x""#,
            r#"json: cannot unmarshal string into Go value of type v1.ExtenderFilterResult"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"error":[]}"#,
            r#"json: cannot unmarshal array into Go struct field ExtenderFilterResult.Error of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"NodeNames":{}}"#,
            r#"json: cannot unmarshal object into Go struct field ExtenderFilterResult.NodeNames of type []string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"NodeNames":[1]}"#,
            r#"json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"FailedNodes":{"a":1}}"#,
            r#"json: cannot unmarshal number into Go struct field ExtenderFilterResult.FailedNodes of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":{}}}"#,
            r#"json: cannot unmarshal object into Go struct field NodeList.Nodes.items of type []v1.Node"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[1]}}"#,
            r#"json: cannot unmarshal number into Go struct field NodeList.Nodes.items of type v1.Node"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":1}]}}"#,
            r#"json: cannot unmarshal number into Go struct field Node.Nodes.items.metadata of type v1.ObjectMeta"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"kind":1}}"#,
            r#"json: cannot unmarshal number into Go struct field NodeList.Nodes.TypeMeta.kind of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"apiVersion":1}]}}"#,
            r#"json: cannot unmarshal number into Go struct field Node.Nodes.items.TypeMeta.apiVersion of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"name":1}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field ObjectMeta.Nodes.items.metadata.name of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"uid":1}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field ObjectMeta.Nodes.items.metadata.uid of type types.UID"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"labels":{"a":1}}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field ObjectMeta.Nodes.items.metadata.labels of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"generation":1.5}}]}}"#,
            r#"json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.Nodes.items.metadata.generation of type int64"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"generation":"1"}}]}}"#,
            r#"json: cannot unmarshal string into Go struct field ObjectMeta.Nodes.items.metadata.generation of type int64"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"creationTimestamp":1}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field ObjectMeta.Nodes.items.metadata.creationTimestamp of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"creationTimestamp":"now"}}]}}"#,
            r#"parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006""#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"metadata":{"name":1,"creationTimestamp":{}}}]}}"#,
            r#"json: cannot unmarshal object into Go struct field ObjectMeta.Nodes.items.metadata.creationTimestamp of type string"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"spec":{"taints":[{"effect":1}]}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field Taint.Nodes.items.spec.taints.effect of type v1.TaintEffect"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"spec":{"unschedulable":"yes"}}]}}"#,
            r#"json: cannot unmarshal string into Go struct field NodeSpec.Nodes.items.spec.unschedulable of type bool"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"status":{"allocatable":{"cpu":[]}}}]}}"#,
            r#"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"status":{"allocatable":{"cpu":"1X"}}}]}}"#,
            r#"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":99999999999}}}}]}}"#,
            r#"json: cannot unmarshal number 99999999999 into Go struct field DaemonEndpoint.Nodes.items.status.daemonEndpoints.kubeletEndpoint.Port of type int32"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"status":{"images":[{"sizeBytes":9223372036854775808}]}}]}}"#,
            r#"json: cannot unmarshal number 9223372036854775808 into Go struct field ContainerImage.Nodes.items.status.images.sizeBytes of type int64"#,
        ),
        (
            &schema::FILTER_RESULT,
            r#"{"Nodes":{"items":[{"status":{"volumesInUse":[1]}}]}}"#,
            r#"json: cannot unmarshal number into Go struct field NodeStatus.Nodes.items.status.volumesInUse of type v1.UniqueVolumeName"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"{}"#,
            r#"json: cannot unmarshal object into Go value of type v1.HostPriorityList"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"[{"Score":1e2}]"#,
            r#"json: cannot unmarshal number 1e2 into Go struct field HostPriority.Score of type int64"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"[{"Score":"1"}]"#,
            r#"json: cannot unmarshal string into Go struct field HostPriority.Score of type int64"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"[{"Score":9223372036854775808}]"#,
            r#"json: cannot unmarshal number 9223372036854775808 into Go struct field HostPriority.Score of type int64"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"[{"Host":1}]"#,
            r#"json: cannot unmarshal number into Go struct field HostPriority.Host of type string"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#"[1]"#,
            r#"json: cannot unmarshal number into Go value of type v1.HostPriority"#,
        ),
        (
            &schema::HOST_PRIORITY_LIST,
            r#""x""#,
            r#"json: cannot unmarshal string into Go value of type v1.HostPriorityList"#,
        ),
        (
            &schema::PREEMPTION_RESULT,
            r#"{"NodeNameToMetaVictims":{"a":1}}"#,
            r#"json: cannot unmarshal number into Go struct field ExtenderPreemptionResult.NodeNameToMetaVictims of type v1.MetaVictims"#,
        ),
        (
            &schema::PREEMPTION_RESULT,
            r#"{"NodeNameToMetaVictims":{"a":{"Pods":{}}}}"#,
            r#"json: cannot unmarshal object into Go struct field MetaVictims.NodeNameToMetaVictims.Pods of type []*v1.MetaPod"#,
        ),
        (
            &schema::PREEMPTION_RESULT,
            r#"{"NodeNameToMetaVictims":{"a":{"Pods":[1]}}}"#,
            r#"json: cannot unmarshal number into Go struct field MetaVictims.NodeNameToMetaVictims.Pods of type v1.MetaPod"#,
        ),
        (
            &schema::PREEMPTION_RESULT,
            r#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":1}]}}}"#,
            r#"json: cannot unmarshal number into Go struct field MetaPod.NodeNameToMetaVictims.Pods.UID of type string"#,
        ),
        (
            &schema::PREEMPTION_RESULT,
            r#"{"NodeNameToMetaVictims":{"a":{"NumPDBViolations":"1"}}}"#,
            r#"json: cannot unmarshal string into Go struct field MetaVictims.NodeNameToMetaVictims.NumPDBViolations of type int64"#,
        ),
        (
            &schema::BINDING_RESULT,
            r#"[]"#,
            r#"json: cannot unmarshal array into Go value of type v1.ExtenderBindingResult"#,
        ),
        (
            &schema::BINDING_RESULT,
            r#""Error""#,
            r#"json: cannot unmarshal string into Go value of type v1.ExtenderBindingResult"#,
        ),
        (&schema::BINDING_RESULT, "", r#"EOF"#),
        (&schema::BINDING_RESULT, " ", r#"EOF"#),
        (
            &schema::BINDING_RESULT,
            r#"1"#,
            r#"json: cannot unmarshal number into Go value of type v1.ExtenderBindingResult"#,
        ),
        (&schema::BINDING_RESULT, r#"12."#, r#"unexpected EOF"#),
        (&schema::BINDING_RESULT, r#"-"#, r#"unexpected EOF"#),
        (&schema::BINDING_RESULT, r#"tr"#, r#"unexpected EOF"#),
        (&schema::BINDING_RESULT, r#"{"Error":"a\q"}"#, r#"invalid character 'q' in string escape code"#),
    ];
    for (ty, text, error) in cases {
        assert_eq!(decode(text, ty), Err((*error).to_owned()), "{text}");
    }
}
