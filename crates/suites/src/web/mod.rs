//! The web suite. Tools have no network until a policy names hosts, and without one `web_search` says so.

use docent_tool::{Answer, AnyTool, CallContext, Hints, Provider, Tool, ToolError, erase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Offers `web_search`.
#[derive(Debug, Default)]
pub struct WebSuite;

impl Provider for WebSuite {
    fn key(&self) -> &'static str {
        "web"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![erase(WebSearch)]
    }
}

/// `web_search`: pages of the web for a query.
#[derive(Debug, Default)]
pub struct WebSearch;

/// Arguments of `web_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArgs {
    /// What to look for.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// At most this many results.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub max_results: u8,
}

fn five() -> u8 {
    5
}

/// Answer of `web_search`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// Best first.
    pub results: Vec<Page>,
}

/// One page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Page {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The part that matches.
    pub snippet: String,
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    const TITLE: &'static str = "Search the web";
    const ABOUT: &'static str =
        "Search the web for pages. The network is off until the operator allows hosts by policy.";
    const HINTS: Hints = Hints::READS_WEB;
    type Args = SearchArgs;
    type Answer = SearchAnswer;

    async fn call(
        &self,
        args: SearchArgs,
        _: &CallContext,
    ) -> Result<Answer<SearchAnswer>, ToolError> {
        if args.query.trim().is_empty() || args.query.chars().count() > 1000 {
            return Err(ToolError::argument(
                "query",
                "must hold 1 to 1000 characters that are not all blank",
            ));
        }
        if !(1..=20).contains(&args.max_results) {
            let problem = format!("{} is outside 1..=20", args.max_results);
            return Err(ToolError::argument("max_results", problem));
        }
        Err(ToolError::failed(
            "The network is off: no host is allowed by policy, so the web can't be searched.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_tool::nobody;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn arguments_are_checked_and_the_network_is_off() {
        let off = "The network is off: no host is allowed by policy, so the web can't be searched.";
        let cases = [
            (json!({"query": "mcp"}), off),
            (json!({"query": "mcp", "max_results": 20}), off),
            (json!({"query": " "}), "argument `query`"),
            (json!({"query": "q".repeat(1001)}), "argument `query`"),
            (json!({"query": "q", "max_results": 0}), "0 is outside 1..=20"),
            (json!({"query": "q", "max_results": 21}), "21 is outside 1..=20"),
            (json!({"query": "q", "extra": 1}), "unknown field `extra`"),
            (json!({}), "missing field `query`"),
        ];
        let tool = erase(WebSearch);
        for (args, want) in cases {
            let Value::Object(object) = args.clone() else {
                unreachable!("the table holds objects")
            };
            let got = tool.call(object, &nobody()).await.unwrap_err().to_string();
            assert!(got.contains(want), "{args}: {got}");
        }
    }

    #[test]
    fn the_schema_has_bounds_and_default() {
        let schema = Value::Object(erase(WebSearch).info().input_schema.as_ref().clone());
        assert_eq!(schema["required"], json!(["query"]));
        let most = &schema["properties"]["max_results"];
        assert_eq!(
            (&most["minimum"], &most["maximum"], &most["default"]),
            (&json!(1), &json!(20), &json!(5))
        );
    }
}
