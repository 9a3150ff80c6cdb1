//! Classifies IP addresses: only public ones are reached without an explicit rule.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Class of an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    /// Public, on the internet.
    Public,
    /// This machine.
    Loopback,
    /// Private network: RFC 1918 and IPv6's unique local addresses.
    Private,
    /// Carrier-grade NAT: 100.64.0.0/10.
    Shared,
    /// Link-local, including cloud metadata services.
    LinkLocal,
    /// Multicast.
    Multicast,
    /// Unspecified; systems treat it as this machine.
    Unspecified,
    /// Reserved for documentation and benchmarks.
    Example,
    /// An IPv4 address in an IPv6 one, or a tunnel to it.
    Wrapped,
    /// Reserved for anything else.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::LinkLocal => "link-local",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Example => "documentation",
            Self::Wrapped => "translated",
            Self::Reserved => "reserved",
        })
    }
}

impl AddressClass {
    /// Classifies an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether a rule for private addresses allows this one. Never link-local ones, where metadata services are.
    pub(crate) const fn at_home(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::Shared)
    }

    /// Whether a single machine can have it.
    pub(crate) const fn is_a_place(self) -> bool {
        !matches!(self, Self::Multicast | Self::Unspecified)
    }
}

const fn of_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, ..] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::Shared,
        [169, 254, ..] => AddressClass::LinkLocal,
        [192, 0, 2, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            AddressClass::Example
        }
        [192, 88, 99, _] => AddressClass::Wrapped,
        [224..=239, ..] => AddressClass::Multicast,
        [192, 0, 0, _] | [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

const fn of_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // Networks without IPv4 reach IPv4 through this prefix: the embedded address counts.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            of_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Mapped and compatible, translated within a network, Teredo, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 1, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..] => AddressClass::Wrapped,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        [0x2001, 2, 0, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Example,
        [0x2001, 0..=0x1ff, ..] => AddressClass::Reserved,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_class() {
        for (address, want) in [
            ("93.184.216.34", AddressClass::Public),
            ("100.63.255.255", AddressClass::Public),
            ("100.128.0.0", AddressClass::Public),
            ("172.15.0.1", AddressClass::Public),
            ("172.32.0.1", AddressClass::Public),
            ("198.17.0.1", AddressClass::Public),
            ("192.0.1.1", AddressClass::Public),
            ("0.0.0.0", AddressClass::Unspecified),
            ("0.1.2.3", AddressClass::Unspecified),
            ("127.0.0.1", AddressClass::Loopback),
            ("127.255.255.254", AddressClass::Loopback),
            ("10.0.0.1", AddressClass::Private),
            ("172.16.0.1", AddressClass::Private),
            ("172.31.255.255", AddressClass::Private),
            ("192.168.1.1", AddressClass::Private),
            ("100.64.0.1", AddressClass::Shared),
            ("100.127.255.255", AddressClass::Shared),
            ("169.254.169.254", AddressClass::LinkLocal),
            ("192.0.2.1", AddressClass::Example),
            ("198.51.100.1", AddressClass::Example),
            ("203.0.113.1", AddressClass::Example),
            ("198.18.0.1", AddressClass::Example),
            ("198.19.255.255", AddressClass::Example),
            ("192.0.0.8", AddressClass::Reserved),
            ("192.88.99.1", AddressClass::Wrapped),
            ("224.0.0.1", AddressClass::Multicast),
            ("239.255.255.255", AddressClass::Multicast),
            ("240.0.0.1", AddressClass::Reserved),
            ("255.255.255.255", AddressClass::Reserved),
            ("2606:4700::1111", AddressClass::Public),
            ("::", AddressClass::Unspecified),
            ("::1", AddressClass::Loopback),
            ("::ffff:127.0.0.1", AddressClass::Wrapped),
            ("::ffff:8.8.8.8", AddressClass::Wrapped),
            ("::ffff:0:10.0.0.1", AddressClass::Wrapped),
            ("::10.0.0.1", AddressClass::Wrapped),
            ("64:ff9b::10.0.0.1", AddressClass::Private),
            ("64:ff9b::169.254.169.254", AddressClass::LinkLocal),
            ("64:ff9b::8.8.8.8", AddressClass::Public),
            ("64:ff9b:1::8.8.8.8", AddressClass::Wrapped),
            ("2002:7f00:1::", AddressClass::Wrapped),
            ("2001:0:1::", AddressClass::Wrapped),
            ("2001:2::1", AddressClass::Example),
            ("2001:db8::1", AddressClass::Example),
            ("3fff::1", AddressClass::Example),
            ("2001:20::1", AddressClass::Reserved),
            ("fc00::1", AddressClass::Private),
            ("fd12:3456::1", AddressClass::Private),
            ("fec0::1", AddressClass::Private),
            ("fe80::1", AddressClass::LinkLocal),
            ("ff02::1", AddressClass::Multicast),
            ("100::1", AddressClass::Reserved),
            ("4000::1", AddressClass::Reserved),
        ] {
            let parsed = address.parse().unwrap();
            assert_eq!(AddressClass::of(parsed), want, "{address}");
        }
    }

    #[test]
    fn a_rule_for_home_never_reaches_metadata() {
        for (address, want) in
            [("127.0.0.1", true), ("10.0.0.1", true), ("fd00::1", true), ("169.254.169.254", false)]
        {
            assert_eq!(AddressClass::of(address.parse().unwrap()).at_home(), want, "{address}");
        }
    }
}
