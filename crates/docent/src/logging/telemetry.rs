//! Exports spans over OTLP/HTTP, and sets their parents from `traceparent`.
//!
//! The SDK batches on its own thread and sends through a small blocking client, so the runtime never waits for a
//! collector.

use crate::config::TelemetryConfig;
use async_trait::async_trait;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
    trace::TracerProvider as _,
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider},
};
use std::time::Duration;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The timeout of one export, including the last one at exit.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends requests with a blocking client: the batch thread has nothing else to do.
#[derive(Debug)]
struct OtlpClient(ureq::Agent);

#[async_trait]
impl HttpClient for OtlpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, body.to_vec());
        let (parts, mut body) = self.0.run(request)?.into_parts();
        Ok(Response::from_parts(parts, Bytes::from(body.read_to_vec()?)))
    }
}

/// Starts the export; the provider must be shut down for the last spans to be sent.
pub(super) fn start(
    endpoint: &str,
    telemetry: &TelemetryConfig,
) -> Result<(SdkTracerProvider, SdkTracer), ExporterBuildError> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(EXPORT_TIMEOUT))
        .http_status_as_error(false)
        // A proxy from the environment would see every span, and a redirect would send headers with keys elsewhere.
        .proxy(None)
        .max_redirects(0)
        .build()
        .new_agent();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(OtlpClient(agent))
        .with_endpoint(endpoint)
        .with_timeout(EXPORT_TIMEOUT)
        .build()?;
    let resource = Resource::builder().with_service_name(telemetry.service_name.clone()).build();
    let provider =
        SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let tracer = provider.tracer("docent");
    Ok((provider, tracer))
}

/// Sends the remaining spans.
pub(super) fn finish(provider: &SdkTracerProvider) {
    if let Err(error) = provider.shutdown_with_timeout(EXPORT_TIMEOUT) {
        tracing::warn!(%error, "the last spans were not exported");
    }
}

/// Returns the remote parent of a W3C `traceparent`; an empty context if it is malformed.
pub fn parent_from(traceparent: &str) -> Context {
    struct TraceHeader<'a>(&'a str);
    impl Extractor for TraceHeader<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            (key == "traceparent").then_some(self.0)
        }
        fn keys(&self) -> Vec<&str> {
            vec!["traceparent"]
        }
    }
    TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceHeader(traceparent))
}

/// Makes `span` a child of the span in `traceparent`. Must be called before the span is entered; does nothing if spans
/// are not exported.
pub fn set_parent(span: &tracing::Span, traceparent: &str) {
    // Fails only if no export is configured, and then there is nothing to do.
    span.set_parent(parent_from(traceparent)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::TraceContextExt;

    #[track_caller]
    fn check(traceparent: &str, want: Option<&str>) {
        let context = parent_from(traceparent);
        let span = context.span();
        let parent = span.span_context();
        let got = parent.is_valid().then(|| format!("{}-{}", parent.trace_id(), parent.span_id()));
        assert_eq!(got.as_deref(), want, "{traceparent}");
    }

    #[test]
    fn parents_are_read_from_traceparent() {
        check(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            Some("0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"),
        );
        check("", None);
        check("00-00000000000000000000000000000000-b7ad6b7169203331-01", None);
        check("nonsense", None);
    }
}
