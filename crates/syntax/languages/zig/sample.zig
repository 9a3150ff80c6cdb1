//! A ring of bytes.
const std = @import("std");
const builtin = @import("builtin");
const Allocator = std.mem.Allocator;
const wire = @import("net/wire.zig");

/// How many bytes a ring holds.
pub const default_size: usize = 4096;
var instances: u32 = 0;

/// What can go wrong.
pub const RingError = error{ Full, Empty };

/// Bytes in, bytes out.
/// Not safe for threads.
pub const Ring = struct {
    bytes: []u8,
    /// Where the next byte goes.
    head: usize = 0,
    tail: usize = 0,
    const Self = @This();

    /// How it grows.
    pub const Policy = enum(u8) {
        never,
        double,

        pub fn factor(self: Policy) usize {
            return switch (self) {
                .never => 1,
                .double => 2,
            };
        }
    };

    /// Makes one.
    pub fn init(allocator: Allocator, size: usize) !Self {
        instances += 1;
        return .{ .bytes = try allocator.alloc(u8, size) };
    }

    pub fn deinit(self: *Self, allocator: Allocator) void {
        allocator.free(self.bytes);
        self.* = undefined;
    }

    /// Puts a byte in.
    pub inline fn push(self: *Self, byte: u8) RingError!void {
        if (self.full() and !builtin.is_test) {
            return error.Full;
        } else if (self.head == self.bytes.len) {
            self.head = 0;
        }
        self.bytes[self.head] = byte;
        self.head += 1;
    }

    fn full(self: *const Self) bool {
        return (self.head + 1) % self.bytes.len == self.tail;
    }
};

const Value = union(enum) {
    number: i64,
    text: []const u8,

    fn isText(self: Value) bool {
        return self == .text;
    }
};

const Header = packed struct { version: u4, flags: u4 };

/// A list of any type.
pub fn List(comptime T: type) type {
    return struct {
        items: []T,

        /// The first one.
        pub fn first(self: @This()) ?T {
            return if (self.items.len == 0) null else self.items[0];
        }
    };
}

pub extern "c" fn getpid() c_int;

export fn ring_count() callconv(.C) u32 {
    return instances;
}

/// Reads until the end.
fn drain(ring: *Ring, comptime limit: ?usize, args: anytype) usize {
    var count: usize = 0;
    outer: while (ring.tail != ring.head) : (count += 1) {
        for (ring.bytes, 0..) |byte, index| {
            if (byte == 0) continue :outer;
            std.debug.print("{d}: {d}\n", .{ index, byte });
        }
        ring.tail += 1;
        if (limit) |most| if (count > most) break;
    }
    _ = wire.send(args) catch |err| switch (err) {
        else => return 0,
    };
    return count;
}

test "bytes come out" {
    var ring = try Ring.init(std.testing.allocator, default_size);
    defer ring.deinit(std.testing.allocator);
    try ring.push(1);
}
