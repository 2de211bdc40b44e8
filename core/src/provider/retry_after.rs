//! How long a provider asks to wait: one pure function over headers and body (R11).

use crate::provider::error::body_of;
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::Value;

/// The wait that a failed answer asks for. Pure; never panics; junk, zero, negative, NaN and infinite values count as
/// none, values beyond what a [`Duration`] holds saturate.
///
/// In this order: header `retry-after-ms` (milliseconds, fractions allowed), header `retry-after` (seconds, fractions
/// allowed, or one of the three HTTP dates, measured from `now_unix` (seconds since 1970), else from the answer's own
/// `date` header), a `retryDelay` in the body's error details (`48s`), and a wish inside the error's text
/// (`try again in 1m2.5s`, `retry in 48.93s`). Header names match in any case.
///
/// The `x-ratelimit-reset-*` headers do not count: they say when a whole allowance is full again, of each of several
/// allowances, and not when the next request may be made.
pub fn retry_after(headers: &[(&str, &str)], body: &[u8], now_unix: Option<u64>) -> Option<Duration> {
    from_headers(headers, now_unix).or_else(|| body_of(body).and_then(|body| from_body(&body)))
}

fn header<'a>(headers: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn from_headers(headers: &[(&str, &str)], now_unix: Option<u64>) -> Option<Duration> {
    let millis = header(headers, "retry-after-ms").and_then(|text| scaled(text, 0.001));
    if millis.is_some() {
        return millis;
    }
    let text = header(headers, "retry-after")?;
    let seconds = scaled(text, 1.0);
    if seconds.is_some() {
        return seconds;
    }
    let now = now_unix.or_else(|| {
        header(headers, "date").and_then(|date| http_date(date, None)).map(|at| at.max(0) as u64)
    });
    let now = i64::try_from(now?).unwrap_or(i64::MAX);
    let wait = http_date(text, Some(now))?.saturating_sub(now);
    u64::try_from(wait).ok().filter(|wait| *wait > 0).map(Duration::from_secs)
}

/// A positive number of units of `unit` seconds; saturates.
fn scaled(text: &str, unit: f64) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u64>().is_err() {
        return Some(Duration::MAX);
    }
    positive(text.parse::<f64>().ok()? * unit)
}

fn positive(seconds: f64) -> Option<Duration> {
    if !seconds.is_finite() || seconds <= 0.0 {
        return None;
    }
    let span = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    (!span.is_zero()).then_some(span)
}

/// The wish in an error body that is JSON.
pub(crate) fn from_body(body: &Value) -> Option<Duration> {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let details = error.get("details").and_then(Value::as_array);
    let delay = details
        .into_iter()
        .flatten()
        .find_map(|detail| detail.get("retryDelay").and_then(Value::as_str))
        .and_then(spans);
    delay.or_else(|| in_text(error.get("message").or(Some(error)).and_then(Value::as_str)?))
}

/// The wish inside a text for people.
fn in_text(text: &str) -> Option<Duration> {
    ["try again in ", "retry in ", "retry after "].into_iter().find_map(|lead| {
        let at = text.as_bytes().windows(lead.len()).position(|w| w.eq_ignore_ascii_case(lead.as_bytes()))?;
        spans(text.get(at + lead.len()..)?)
    })
}

/// Units and their seconds; longer names first, so that `ms` is not read as `m`.
const UNITS: [(&str, f64); 13] = [
    (" milliseconds", 1e-3),
    (" seconds", 1.0),
    (" second", 1.0),
    (" minutes", 60.0),
    (" minute", 60.0),
    (" hours", 3600.0),
    (" hour", 3600.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// A sum of spans at the start of `text`, such as `48s`, `1m2.5s`, `12ms`, `20 seconds`.
fn spans(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = 0.0;
    loop {
        let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit = UNITS.iter().find_map(|(name, seconds)| Some((tail.strip_prefix(name)?, *seconds)));
        let (Ok(number), Some((tail, seconds))) = (number.parse::<f64>(), unit) else { break };
        total += number * seconds;
        rest = tail;
    }
    positive(total)
}

/// Seconds since 1970 of an HTTP date in any of its three forms: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Two-digit years lie within 50 years of `now`
/// (without it, in 1970 to 2069).
fn http_date(text: &str, now: Option<i64>) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', ',', '-', ':']).filter(|word| !word.is_empty()).take(9).collect();
    let (day_name, day, month, year, time) = match *words.as_slice() {
        [name, day, month, year, h, m, s, zone] if zone.eq_ignore_ascii_case("GMT") => {
            (name, day, month, year, [h, m, s])
        }
        [name, month, day, h, m, s, year] => (name, day, month, year, [h, m, s]),
        _ => return None,
    };
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    if !DAYS.iter().any(|name| day_name.starts_with(name)) {
        return None;
    }
    let month = MONTHS.iter().position(|name| month.eq_ignore_ascii_case(name))? as i64 + 1;
    let year = match year.len() {
        2 => full_year(small(year)?, now),
        4 => small(year)?,
        _ => return None,
    };
    let day = small(day).filter(|day| (1..=days_in(month, year)).contains(day))?;
    let [h, m, s] = time.map(small);
    let (h, m, s) = (h.filter(|h| *h < 24)?, m.filter(|m| *m < 60)?, s.filter(|s| *s <= 60)?);
    Some(days_since_1970(year, month, day) * 86_400 + h * 3_600 + m * 60 + s)
}

fn small(text: &str) -> Option<i64> {
    let digits = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn full_year(two: i64, now: Option<i64>) -> i64 {
    let Some(now) = now else { return if two < 70 { 2000 + two } else { 1900 + two } };
    // Exact enough: only the century is taken from it.
    let this_year = 1970 + now / 31_556_952;
    let guess = this_year - this_year.rem_euclid(100) + two;
    match guess - this_year {
        51.. => guess - 100,
        ..-50 => guess + 100,
        _ => guess,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leap_days = |y: i64| y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    let years = (year - 1970) * 365 + leap_days(before) - leap_days(1969);
    let months: i64 = (1..month).map(|month| days_in(month, year)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &str, value: &str) -> Option<Duration> {
        retry_after(&[(name, value)], b"", Some(784_111_770))
    }

    // proves: R11
    #[test]
    fn headers_in_their_order_and_forms() {
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(wait("Retry-After", " 2 "), ms(2_000));
        assert_eq!(wait("retry-after", "0.25"), ms(250));
        assert_eq!(wait("retry-after-ms", "1500"), ms(1_500));
        assert_eq!(retry_after(&[("retry-after", "9"), ("Retry-After-Ms", "5")], b"", None), ms(5));
        assert_eq!(retry_after(&[("retry-after", "1"), ("retry-after-ms", "0")], b"", None), ms(1_000));
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(wait("retry-after", date), ms(7_000), "{date}");
            assert_eq!(retry_after(&[("retry-after", date)], b"", None), None);
            let server = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
            assert_eq!(retry_after(&[("retry-after", date), server], b"", None), ms(7_000));
            assert_eq!(retry_after(&[("retry-after", date)], b"", Some(784_111_777)), None, "past");
        }
    }

    // proves: R11
    #[test]
    fn junk_is_none_and_huge_saturates() {
        for junk in [
            "",
            "-1",
            "0",
            "0.0",
            "nan",
            "inf",
            "-inf",
            "1e999",
            "1e-12",
            "soon",
            "1 2",
            "0x10",
            "Sun, 31 Feb 2094 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Foo, 06 Nov 1995 08:49:37 GMT",
            "Sun, 06 Nov 1995 08:49:37 CET",
            "Sun, 06 Nov 19955 08:49:37 GMT",
            ",,,::: GMT",
            "\u{e9}",
        ] {
            assert_eq!(wait("retry-after", junk), None, "{junk}");
            assert_eq!(wait("retry-after-ms", junk), None, "{junk}");
        }
        assert_eq!(wait("retry-after", "1e30"), Some(Duration::MAX));
        assert_eq!(wait("retry-after", "99999999999999999999999"), Some(Duration::MAX));
        assert_eq!(wait("retry-after", &"9".repeat(400)), Some(Duration::MAX));
        assert_eq!(wait("x-ratelimit-reset-requests", "12ms"), None);
        assert_eq!(
            retry_after(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")], b"", Some(u64::MAX)),
            None
        );
    }

    // proves: R11
    #[test]
    fn hints_in_bodies() {
        let hint = |body: &str| retry_after(&[], body.as_bytes(), None);
        let info = "[{\"error\":{\"code\":429,\"message\":\"x\",\"details\":[{\"@type\":\"a\"},{\"retryDelay\":\"34.4s\"}]}}]";
        assert_eq!(hint(info), Some(Duration::from_millis(34_400)));
        for (text, millis) in [
            ("Please retry in 48.93s.", 48_930),
            ("Please try again in 1m2.5s. Visit", 62_500),
            ("Please Try Again In 20 seconds", 20_000),
            ("Please retry after 3 minutes.", 180_000),
            ("try again in 12ms", 12),
        ] {
            let body = alloc::format!("{{\"error\":{{\"message\":\"{text}\"}}}}");
            assert_eq!(hint(&body), Some(Duration::from_millis(millis)), "{text}");
            assert_eq!(
                hint(&alloc::format!("{{\"error\":\"{text}\"}}")),
                Some(Duration::from_millis(millis))
            );
        }
        for text in ["retry in a while", "try again in 5", "retry in 0s", "retry in .s", "retry in 9e9s"] {
            assert_eq!(hint(&alloc::format!("{{\"error\":{{\"message\":\"{text}\"}}}}")), None, "{text}");
        }
        assert_eq!(retry_after(&[("retry-after", "2")], info.as_bytes(), None), Some(Duration::from_secs(2)));
        assert_eq!(hint("<html>retry in 5s"), None);
    }

    #[test]
    fn days_agree_with_known_dates() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(1969, 12, 31), -1);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2100, 3, 1), 47_541);
        assert_eq!(full_year(10, Some(4_000_000_000)), 2110);
        assert_eq!(full_year(99, Some(1_700_000_000)), 1999);
    }
}
