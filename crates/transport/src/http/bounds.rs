//! Limits per connection, and counters of connections that exceeded them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Limits of the listener on time, connections and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum open connections. Further ones get 503 and are closed.
    pub connections: usize,
    /// Maximum open connections from one address, or from one /64 of IPv6.
    pub connections_per_address: usize,
    /// From the first byte of a request to the end of its headers; for the first request, from the connection on.
    pub head: Duration,
    /// Maximum bytes of the request line and headers together, up to 128 KiB. Larger ones get 431, as do more than 100
    /// headers.
    pub head_bytes: usize,
    /// Timeout for the body of a request. A slower one gets 408.
    pub body: Duration,
    /// Bytes of a body that extend its timeout by a second.
    pub body_rate: usize,
    /// Idle timeout between two requests on one connection.
    pub idle: Duration,
    /// Timeout of the TLS handshake.
    pub tls_handshake: Duration,
    /// Timeout for a peer that reads nothing of what is written to it.
    pub write: Duration,
    /// Timeout for a session without open requests and streams. When slots run out, a thirtieth of it.
    pub session: Duration,
    /// Interval of pings on an open WebSocket.
    pub ping: Duration,
    /// Timeout for a WebSocket peer that neither sends a whole message nor answers a ping.
    pub silence: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            // All sessions and streams that the server allows by default, and room for short requests beside them.
            connections: 4096 + 512,
            connections_per_address: 1024,
            head: Duration::from_secs(10),
            head_bytes: 64 * 1024,
            body: Duration::from_secs(30),
            body_rate: 64 * 1024,
            idle: Duration::from_mins(2),
            tls_handshake: Duration::from_secs(10),
            write: Duration::from_secs(30),
            session: Duration::from_mins(30),
            ping: Duration::from_secs(30),
            // Peers that only read the socket when they want an answer must not lose it while people think.
            silence: Duration::from_mins(5),
        }
    }
}

/// Counters of connections and sessions that docent ended, for metrics.
#[derive(Debug, Default)]
pub struct ConnectionStats {
    turned_away: AtomicU64,
    timed_out: AtomicU64,
    idle: AtomicU64,
    handshakes_failed: AtomicU64,
    sessions_ended: AtomicU64,
}

impl ConnectionStats {
    /// Connections refused because all slots were taken.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Connections that exceeded a timeout for a head or for reading, and bodies that did.
    pub fn timed_out(&self) -> u64 {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Connections on which no further request came.
    pub fn idle(&self) -> u64 {
        self.idle.load(Ordering::Relaxed)
    }

    /// Connections whose TLS handshake failed or took too long.
    pub fn handshakes_failed(&self) -> u64 {
        self.handshakes_failed.load(Ordering::Relaxed)
    }

    /// Idle sessions that were ended.
    pub fn sessions_ended(&self) -> u64 {
        self.sessions_ended.load(Ordering::Relaxed)
    }

    /// All counters in the Prometheus text format.
    pub(super) fn text(&self) -> String {
        let (away, slow, idle) = (self.turned_away(), self.timed_out(), self.idle());
        let (handshakes, sessions) = (self.handshakes_failed(), self.sessions_ended());
        format!(
            "# HELP docent_connections_ended_total Connections that docent ended, by reason.\n\
             # TYPE docent_connections_ended_total counter\n\
             docent_connections_ended_total{{reason=\"no_place\"}} {away}\n\
             docent_connections_ended_total{{reason=\"slow\"}} {slow}\n\
             docent_connections_ended_total{{reason=\"idle\"}} {idle}\n\
             docent_connections_ended_total{{reason=\"handshake\"}} {handshakes}\n\
             # HELP docent_sessions_reclaimed_total Idle sessions that docent ended.\n\
             # TYPE docent_sessions_reclaimed_total counter\n\
             docent_sessions_reclaimed_total {sessions}\n"
        )
    }

    pub(super) fn count_turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_idle(&self) {
        self.idle.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_failed_handshake(&self) {
        self.handshakes_failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_ended_sessions(&self, ended: usize) {
        self.sessions_ended.fetch_add(ended as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_exported() {
        let tally = ConnectionStats::default();
        let zeros = tally.text();
        tally.count_turned_away();
        for (times, count) in
            [ConnectionStats::count_timed_out, ConnectionStats::count_idle].iter().enumerate()
        {
            (0..times + 2).for_each(|_| count(&tally));
        }
        (0..4).for_each(|_| tally.count_failed_handshake());
        tally.count_ended_sessions(5);
        let exported: Vec<String> = tally
            .text()
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.replace("docent_", "").replace("_total", ""))
            .collect();
        assert_eq!(
            exported,
            [
                "connections_ended{reason=\"no_place\"} 1",
                "connections_ended{reason=\"slow\"} 2",
                "connections_ended{reason=\"idle\"} 3",
                "connections_ended{reason=\"handshake\"} 4",
                "sessions_reclaimed 5",
            ]
        );
        assert_eq!(zeros.lines().filter(|line| line.ends_with(" 0")).count(), 5, "{zeros}");
    }
}
