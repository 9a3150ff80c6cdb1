//! URLs in results and pages: made absolute, unwrapped, and without tracking parameters.

use url::Url;

/// Maximum length of a URL that is passed on.
const MAX_URL_BYTES: usize = 2000;
/// Tracking parameters, which do not change the page.
const TRACKING_PARAMETERS: [&str; 5] = ["gclid", "fbclid", "msclkid", "dclid", "yclid"];

/// Parses the URL of a result.
pub(crate) fn result_url(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok().filter(is_page)?;
    Some(without_counters(url))
}

/// Whether a URL can be fetched and passed on: http or https, of bounded length, without a password.
pub(crate) fn is_page(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.as_str().len() <= MAX_URL_BYTES
        && url.username().is_empty()
        && url.password().is_none()
}

/// Removes `utm_…` and the like. The rest of the query stays unchanged, byte for byte.
fn without_counters(mut url: Url) -> Url {
    let Some(query) = url.query() else { return url };
    let counts = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        name.starts_with("utm_") || TRACKING_PARAMETERS.contains(&name.as_str())
    };
    if !query.split('&').any(|pair| counts(&pair)) {
        return url;
    }
    let kept: Vec<&str> = query.split('&').filter(|pair| !counts(pair)).collect();
    let kept = kept.join("&");
    url.set_query((!kept.is_empty()).then_some(kept.as_str()));
    url
}

/// A link for use in Markdown: absolute, http or https, with escaped parentheses.
pub(crate) fn absolute(base: &Url, target: &str) -> Option<String> {
    let url = base.join(target.trim()).ok().filter(is_page)?;
    Some(url.as_str().replace('(', "%28").replace(')', "%29"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_dropped_and_the_rest_stays() {
        for (text, want) in [
            ("https://a.test/?utm_source=x", "https://a.test/"),
            ("https://a.test/?UTM_Source=x&b=%20c+d&gclid=1", "https://a.test/?b=%20c+d"),
            ("https://a.test/?b&c=&utm_id", "https://a.test/?b&c="),
            ("https://a.test/?utmost=x#utm_a=b", "https://a.test/?utmost=x#utm_a=b"),
            ("https://a.test?", "https://a.test/?"),
        ] {
            assert_eq!(result_url(text).as_ref().map(Url::as_str), Some(want));
        }
        let long = format!("https://a.test/{}", "x".repeat(3000));
        for text in
            ["ftp://a.test/", "javascript:x()", "//a.test/", "x", "https://u:p@a.test/", &long]
        {
            assert_eq!(result_url(text), None, "{text}");
        }
    }

    #[test]
    fn links_are_absolute_and_end_where_they_end() {
        let base = Url::parse("https://a.test/x/y").unwrap();
        for (target, want) in [
            ("z_(b)", Some("https://a.test/x/z_%28b%29")),
            ("#part", Some("https://a.test/x/y#part")),
            ("//b.test", Some("https://b.test/")),
            ("mailto:a@b.test", None),
            ("javascript:x", None),
            ("https://[", None),
        ] {
            assert_eq!(absolute(&base, target).as_deref(), want, "{target}");
        }
    }
}
