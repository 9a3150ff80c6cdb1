// Shapes that can be drawn.
#include <memory>
#include <string>
#include "shapes/base.hpp"

#define SHAPES_ASSERT(condition) do { if (!(condition)) std::abort(); } while (0)

namespace shapes {

using Length = double;
typedef std::vector<Length> Lengths;
using std::string;

/// How a shape is filled.
enum class Fill : unsigned char { None, Solid };

inline constexpr int kMaxSides = 12;

//! Says that something can't be drawn.
class DrawError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/**
 * Something with an area.
 */
class Shape {
  int id_ = 0;
  void touch();

 public:
  /**
   * Makes one.
   *
   * @param name what it is called
   */
  explicit Shape(std::string name, Fill fill = Fill::None) noexcept;
  Shape(const Shape&) = delete;
  virtual ~Shape() = default;

  /// Its area.
  /// @return never less than 0
  virtual Length area() const = 0;
  bool operator==(const Shape& other) const { return id_ == other.id_; }
  explicit operator bool() const { return id_ != 0; }
  [[nodiscard]] static std::unique_ptr<Shape> load(const char* path);

  template <typename Visitor>
  auto visit(Visitor&& visitor, int depth = 1) const -> decltype(visitor(*this)) {
    return visitor(*this);
  }

  struct Corner {
    Length x, y;
    Length distance(const Corner& other) const;
  };

 protected:
  std::string name_;
  friend class Canvas;
  virtual void draw(Canvas& canvas, ...) {}

 private:
  static constexpr int kFirst = 1;
  Length (*scale_)(Length) = nullptr;
};

template <typename T, int Size = 4>
struct Ring final {
  T items[Size];
  T& at(int index);
  friend void swap(Ring& left, Ring& right) { std::swap(left.items, right.items); }
};

union Word {
  int whole;
  char bytes[4];
};

template <typename T>
concept Drawable = requires(T shape) { shape.draw(); };

namespace {
int counter = 0;

void count() { ++counter; }
}  // namespace

namespace detail::math {
static double half(double value) { return value / 2; }
}  // namespace detail::math

Shape::Shape(std::string name, Fill fill) noexcept : id_(1), name_(std::move(name)) {
  if (fill == Fill::Solid && !name_.empty()) {
    touch();
  } else if (fill == Fill::None) {
    count();
  }
}

Length Shape::Corner::distance(const Corner& other) const {
  return std::hypot(x - other.x, y - other.y);
}

template <typename T, int Size>
T& Ring<T, Size>::at(int index) {
  for (auto& item : items) {
    if (index-- == 0) return item;
  }
  throw DrawError("out of range");
}

void Shape::touch() try {
  auto twice = [this](int by) { return by ? id_ * by : 0; };
  switch (twice(2)) {
    case 0:
      break;
    default:
      delete scale_;
  }
} catch (const DrawError& error) {
  count();
}

/* Written to a stream. */
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << (shape ? "shape" : "none");
}

template <>
struct hash<Shape> {
  size_t operator()(const Shape&) const;
};

}  // namespace shapes

extern "C" {
int shapes_version(void);
}

extern "C" int shapes_count(const char *name) { return name ? 1 : 0; }

int main() {
  auto shape = std::make_unique<shapes::Ring<int>>();
  return shape->at(0);
}
