/// Shapes that can be drawn.
library shapes;

import 'dart:math' as math;
import 'package:meta/meta.dart' show immutable, visibleForTesting;
import '../canvas.dart';
export 'src/colour.dart';
part 'shapes.g.dart';

/// How many corners a square has.
const int corners = 4;
final _cache = <String, Shape>{};
String? title;

/// Says what was drawn.
typedef OnDraw = void Function(Shape shape);

/// A direction.
enum Direction {
  /// To the left.
  left,
  right;

  Direction get opposite => this == left ? right : left;
}

/// Something with an area.
///
/// Every shape has one.
@immutable
abstract class Shape implements Comparable<Shape> {
  /// Made by those below.
  const Shape(this.name, {this.colour = 'red'});

  /// By its name.
  factory Shape.named(String name, {required double size}) {
    switch (name) {
      case 'circle':
        return Circle(size);
      default:
        throw ArgumentError(name);
    }
  }

  /// What it is called.
  final String name;
  final String? colour;
  static int _made = 0;

  double get area;
  set scale(double value);

  @override
  int compareTo(Shape other) => area.compareTo(other.area);

  @visibleForTesting
  static void reset() {
    _made = 0;
  }

  /// Adds areas.
  double operator +(Shape other) => area + other.area;
}

class Circle extends Shape with _Logged {
  Circle(this.radius, [String? label]) : super(label ?? 'circle');
  Circle.unit() : this(1);

  final double radius;

  @override
  double get area => math.pi * radius * radius;

  @override
  set scale(double value) {}

  /// Draws it.
  @Deprecated('use paint')
  Future<void> draw(Canvas canvas, {required OnDraw onDraw, int times = 1}) async {
    for (var i = 0; i < times; i++) {
      if (canvas.isOpen && radius > 0) {
        await canvas.circle(radius);
      } else if (title == null) {
        continue;
      }
      try {
        onDraw(this);
      } on StateError catch (e) {
        log(e.message);
      }
    }
  }

  Stream<int> _count() async* {
    yield 1;
  }
}

mixin _Logged on Object {
  void log(String text) => print(text);
}

extension Doubled on double {
  double twice() => this * 2;
}

extension type Id._(int value) {
  bool get isNew => value == 0;
}

/// The largest of all.
T? largest<T extends Shape>(List<T> all, [int from = 0]) {
  T? best;
  for (final one in all.skip(from)) {
    best = (best == null || one.compareTo(best) > 0) ? one : best;
  }
  bool better(T other) => other.area > best!.area;
  return all.any(better) ? best : null;
}

int get made => Shape._made;
external void beep();
