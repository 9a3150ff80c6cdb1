# frozen_string_literal: true

require "json"
require_relative "shop/base"
autoload :Cart, "shop/cart"

# Everything about the shop.
module Shop
  VERSION = "1.2"
  STATES = %i[open closed].freeze

  # Raised where an order is not known.
  class UnknownOrder < StandardError; end

  # Keeps orders.
  #
  # @api public
  class Store < Base::Store
    include Enumerable
    extend Forwardable

    attr_reader :name, :size
    # Where it is kept.
    attr_accessor :path
    def_delegators :@orders, :each

    class << self
      # Opens one.
      def open(path)
        new(path)
      end

      private

      def cache = @cache ||= {}
    end

    # Makes a store.
    #
    # @param name [String] what it is called
    # @return [void]
    def initialize(name, size = 10, *rest, path:, mode: :read, **options, &block)
      @name = name
      super()
      yield self if block_given? && size > 1
    end

    def self.default
      @default ||= new("default", path: ".")
    end

    def [](id)
      find(id) or raise UnknownOrder, id
    end

    # Finds an order.
    def find(id)
      return if id.nil?

      @orders.each do |order|
        next unless order.id == id

        return order
      end
      nil
    end

    def open?
      !closed
    end

    def size=(value)
      @size = value.positive? ? value : 0
    end

    protected

    def ==(other)
      other.is_a?(Store) && other.name == name
    end

    private

    # Reads the file.
    def load
      case mode
      when :read then File.read(path)
      when :none, nil
        ""
      else
        raise ArgumentError
      end
    rescue Errno::ENOENT => e
      warn(e.message)
    ensure
      @loaded = true
    end

    LIMIT = 5

    def trim; end

    def hidden(a, (b, c), ...) = a
    private def shown; end
    private_class_method :default
  end

  class Store::Line
    def total
      while @more
        break if @total > 10
      end
      until done? do step end
      for item in items do add(item) end
    end
  end

  Point = Struct.new(:x, :y) do
    def distance
      Math.hypot(x, y)
    end
  end

  def self.configure
    yield self
  end

  module_function

  def help; end
end

# At the top.
def main(argv)
  Shop::Store.new(argv.first)
end

define_method(:later) { |a, b = 2| a + b }
alias run main
