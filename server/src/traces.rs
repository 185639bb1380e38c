//! Traces for an OpenTelemetry collector: one for each execution, over all processes and whatever interrupts them.
//!
//! The id of a trace is the execution's id. So no process hands a context to the next one, and whoever knows an execution
//! finds its trace. A span belongs to the execution that it names in a field, or that a span around it names; all others are
//! not exported. What a span says beside its times is in [`FIELDS`]: never what a client or an agent wrote.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
pub use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor},
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

/// What leaves the process. `id` is that of a request.
const FIELDS: [&str; 5] = ["id", "execution", "agent", "signature", "outcome"];
/// What the filter of the log lets pass where it names nothing else: the spans of calls, in these two crates.
pub const SPANS: &str = "crtx_http=info,crtx_gateway=info";
/// Spans that wait for the collector. More are dropped.
const QUEUE: usize = 4_096;
const EXPORT_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for the collector, also at the end of the process.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where spans go: a layer of `tracing`. It has no filter of its own, because filters of layers forget what they decided when
/// `sqlx` asks whether something is logged. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Traces(Arc<BatchSpanProcessor>);

impl Traces {
    /// Starts the thread that sends to this collector, which need not be there. `roles`: what the process does.
    pub fn to(collector: &str, roles: &str) -> Result<Self, ExporterBuildError> {
        let exporter = SpanExporter::builder().with_http().with_timeout(PATIENCE);
        let exporter = exporter.with_endpoint(format!("{collector}/v1/traces")).build()?;
        let config = BatchConfigBuilder::default().with_max_queue_size(QUEUE).with_scheduled_delay(EXPORT_EVERY);
        let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(config.build()).build();
        let service = Resource::builder().with_service_name("crtx-server");
        processor.set_resource(&service.with_attribute(KeyValue::new("crtx.roles", roles.to_owned())).build());
        Ok(Self(Arc::new(processor)))
    }

    /// Sends what waits, unless the collector takes too long.
    pub fn stop(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(PATIENCE) {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}

/// A span that has not ended yet.
struct OpenSpan {
    id: SpanId,
    execution: Option<TraceId>,
    attributes: Vec<KeyValue>,
    started: SystemTime,
    /// When it was last worked on. A request ends before the call that it began.
    left: Option<SystemTime>,
}

impl Visit for OpenSpan {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, text: &str) {
        if !FIELDS.contains(&field.name()) {
            return;
        }
        if field.name() == "execution" {
            self.execution = text.parse::<uuid::Uuid>().ok().map(|id| TraceId::from_bytes(id.into_bytes()));
        }
        self.attributes.push(KeyValue::new(format!("crtx.{}", field.name()), text.to_owned()));
    }
}

/// The span that all others of an execution are below, in whichever process they are.
fn root_of(execution: TraceId) -> SpanId {
    let [a, b, c, d, e, f, g, h, ..] = execution.to_bytes();
    SpanId::from_bytes([a, b, c, d, e, f, g, h])
}

/// Looks at the spans around one, the nearest first.
fn around<S: Subscriber + for<'a> LookupSpan<'a>, T>(
    span: &SpanRef<'_, S>,
    mut look: impl FnMut(&mut OpenSpan) -> Option<T>,
) -> Option<T> {
    span.scope().skip(1).find_map(|outer| outer.extensions_mut().get_mut::<OpenSpan>().and_then(&mut look))
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traces {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let id = SpanId::from(rand::random_range(1..=u64::MAX));
        let mut open = OpenSpan { id, execution: None, attributes: Vec::new(), started: SystemTime::now(), left: None };
        attributes.record(&mut open);
        if let Some(execution) = open.execution {
            // The request that begins the call is the root.
            around(&span, |request| {
                (request.id, request.execution) = (root_of(execution), Some(execution));
                Some(())
            });
        }
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<OpenSpan>()
        {
            values.record(open);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<OpenSpan>()
        {
            open.left = Some(SystemTime::now());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<OpenSpan>() else { return };
        let Some(execution) = open.execution.or_else(|| around(&span, |outer| outer.execution)) else { return };
        let root = root_of(execution);
        let parent = match around(&span, |outer| Some(outer.id)) {
            _ if open.id == root => SpanId::INVALID,
            parent => parent.unwrap_or(root),
        };
        self.0.on_end(SpanData {
            span_context: SpanContext::new(execution, open.id, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: parent,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: span.name().into(),
            start_time: open.started,
            end_time: open.left.unwrap_or_else(SystemTime::now),
            attributes: open.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("crtx").build(),
        });
    }
}
