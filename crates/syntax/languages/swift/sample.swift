import Foundation
import struct Shop.Order
@testable import ShopKit

/// How many are kept.
public let limit = 10
private var shared: Store?

public typealias Handler = (Order) -> Void

/// Finds orders.
public protocol Finder: AnyObject {
    associatedtype Key: Hashable
    var count: Int { get }
    static var shared: Self { get }
    init(path: String)
    /// Finds one.
    func find(_ key: Key, deep: Bool) throws -> Order?
    subscript(key: Key) -> Order? { get }
}

/// Where an order stands.
@frozen
public enum State: String, CaseIterable {
    case open, closed
    /// Sent back.
    case returned = "back"
    indirect case nested(State, reason: String)

    var isOpen: Bool { self == .open }
    static func parse(_ text: String) -> State { State(rawValue: text) ?? .open }
}

/**
 Keeps orders.

 - Parameter path: where
 */
@MainActor
open class Store: Base, Finder {
    public static let version = "1.2"
    @Published private(set) var orders: [String: Order] = [:]
    private let path: String, size: Int
    weak var owner: AnyObject?
    lazy var cache = Cache()
    var count: Int {
        get { orders.count }
        set { trim(newValue) }
    }

    /// Makes a store.
    ///
    /// - Parameters:
    ///   - path: where it is kept
    public required init(path: String) {
        self.path = path
        super.init()
    }

    convenience init?(_ name: String = "default", in folder: URL? = nil) {
        guard let folder = folder, !name.isEmpty else { return nil }
        self.init(path: folder.path)
    }

    deinit { close() }

    /// Finds an order.
    /// - Returns: the order, or nothing
    @discardableResult
    public func find(_ key: String, deep: Bool = false) async throws -> Order? {
        if let order = orders[key], order.isOpen || deep {
            return order
        } else if deep {
            return try await load(key)
        }
        for (_, order) in orders where order.id == key {
            switch order.state {
            case .open, .closed: return order
            case .nested(let inner, _) where inner.isOpen: break
            default: continue
            }
        }
        return orders[key] ?? nil
    }

    subscript(key: String) -> Order? { orders[key] }

    fileprivate final class func make<T: Order>(of kind: T.Type, _ rest: Int...) -> T where T: Codable {
        do {
            try kind.check()
        } catch let error as Problem {
            print(error)
        } catch { }
        let twice = { (value: Int) -> Int in value > 1 ? value * 2 : 0 }
        return kind.init(twice(1))
    }

    struct Line {
        var amount = 0
        mutating func add(_ other: inout Line) { amount += other.amount }
    }

    private func close() {
        while size > 0 { break }
        repeat { trim(1) } while count > 3
    }
}

extension Store: Equatable {
    public static func == (left: Store, right: Store) -> Bool { left.path == right.path }

    /// Takes some away.
    func trim(_ to: Int) {}
}

internal extension Array where Element == Order {
    func opened() -> [Order] { filter { $0.isOpen } }
}

actor Queue {
    func push(_ order: Order) async {}
}

infix operator <+>: AdditionPrecedence

func <+> (left: Int, right: Int) -> Int { left + right }

// Starts it.
func main(arguments: [String]) {
    let store = Store(path: arguments[0])
    store?.close()
}
