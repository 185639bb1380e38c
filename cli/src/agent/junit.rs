//! The report of a test as JUnit XML, in the form that CI systems read: one test case for each check.

use crtx_conformance::{Check, Report};

use crate::output::printable;

/// What the service answered stands in it, so every text is escaped and on one line.
pub fn of(report: &Report, agent: &str) -> String {
    let failed = report.failed().count();
    let skipped = report.checks.iter().filter(|check| check.skipped.is_some()).count();
    let seconds = std::time::Duration::from_millis(report.duration_ms).as_secs_f64();
    let counts = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        report.checks.len()
    );
    let cases: String = report.checks.iter().map(case).collect();
    let name = text(agent);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"crtx agent test\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

fn case(check: &Check) -> String {
    let said = |text_of: &Option<String>| text(text_of.as_deref().unwrap_or_default());
    let start = format!("    <testcase classname=\"crtx agent test\" name=\"{}\"", check.name);
    match &check.skipped {
        Some(reason) => format!("{start}><skipped message=\"{}\"/></testcase>\n", text(reason)),
        None if check.has_failed() => format!(
            "{start}><failure type=\"{}\" message=\"{}\">expected: {}\nreceived: {}\nfix: {}</failure></testcase>\n",
            check.name,
            said(&check.received),
            text(&check.expected),
            said(&check.received),
            said(&check.fix),
        ),
        None => format!("{start}/>\n"),
    }
}

fn text(text: &str) -> String {
    // XML has no way to write these two.
    let text = printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use crtx_conformance::CheckName;

    use super::*;

    #[test]
    fn a_report_has_a_test_case_for_each_check_and_what_a_stranger_sends_stays_text() {
        let check = |name, passed, received: &str| Check {
            name,
            passed,
            skipped: passed.is_none().then(|| "a plain http URL".to_owned()),
            expected: "`status` is <completed>".to_owned(),
            received: Some(received.to_owned()),
            fix: Some("Answer \"completed\".".to_owned()),
        };
        let checks = vec![
            check(CheckName::Reachable, Some(true), "answered"),
            check(CheckName::Tls, None, ""),
            check(CheckName::Status, Some(false), "]]></failure>\n\u{1b}[2J\u{ffff}&\"'"),
        ];
        let report = Report { passed: false, requests: 1, duration_ms: 1_234, answer_ms: Some(3), checks };
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="crtx agent test" tests="3" failures="1" errors="0" skipped="1" time="1.234">
  <testsuite name="a &amp; b" tests="3" failures="1" errors="0" skipped="1" time="1.234">
    <testcase classname="crtx agent test" name="reachable"/>
    <testcase classname="crtx agent test" name="tls"><skipped message="a plain http URL"/></testcase>
    <testcase classname="crtx agent test" name="status"><failure type="status" message="STRANGE">expected: `status` is &lt;completed&gt;
received: STRANGE
fix: Answer &quot;completed&quot;.</failure></testcase>
  </testsuite>
</testsuites>
"#;
        let strange = "]]&gt;&lt;/failure&gt;\u{fffd}\u{fffd}[2J\u{fffd}&amp;&quot;'";
        assert_eq!(of(&report, "a & b"), expected.replace("STRANGE", strange));
    }
}
