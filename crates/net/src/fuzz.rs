//! Responses from memory, for fuzz targets and tests: everything but the connection is real.

use crate::{FetchLimits, GuardedClient, NetworkPolicy, SystemLookup};
use std::sync::Arc;
use ureq::{
    Error,
    unversioned::transport::{
        Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
    },
};

impl GuardedClient {
    /// Creates a client that receives these bytes on every connection. Addresses are looked up and checked as usual.
    pub fn hearing(policy: NetworkPolicy, limits: FetchLimits, answer: Vec<u8>) -> Self {
        Self::with_connector(policy, limits, Arc::new(SystemLookup), ReplayConnector(answer.into()))
    }
}

/// A connector that opens no connection.
#[derive(Debug)]
struct ReplayConnector(Arc<[u8]>);

impl Connector for ReplayConnector {
    type Out = ReplayTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<ReplayTransport>, Error> {
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(ReplayTransport { buffers, answer: Arc::clone(&self.0), at: 0 }))
    }
}

#[derive(Debug)]
struct ReplayTransport {
    buffers: LazyBuffers,
    answer: Arc<[u8]>,
    at: usize,
}

impl Transport for ReplayTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, _: usize, _: NextTimeout) -> Result<(), Error> {
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        let rest = self.answer.get(self.at..).unwrap_or_default();
        let room = self.buffers.input_append_buf();
        let size = rest.len().min(room.len());
        for (to, from) in room.iter_mut().zip(rest) {
            *to = *from;
        }
        self.buffers.input_appended(size);
        self.at += size;
        Ok(size > 0)
    }

    fn is_open(&mut self) -> bool {
        false
    }

    fn is_tls(&self) -> bool {
        true
    }
}
