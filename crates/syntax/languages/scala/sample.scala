package shop.orders

import scala.collection.mutable
import java.io.{File, IOException => Problem}
import shop.base._

/** Finds orders.
  *
  * @tparam K by what
  */
trait Finder[K] {
  type Key = K
  type Value
  val limit: Int
  def count: Int
  /** Finds one. */
  def find(key: K, deep: Boolean = false): Option[Order]
}

sealed abstract class State(val code: Int)

object State {
  case object Open extends State(1)
  final case class Closed(reason: String, by: Option[String] = None) extends State(2)
}

/** Keeps orders.
  *
  * @constructor makes one
  * @param path where
  */
@SerialVersionUID(1L)
class Store @Inject() (val path: String, private var size: Int = 10)(implicit clock: Clock)
    extends Base(path)
    with Finder[String] {

  import Store._

  private[orders] val cache = mutable.Map.empty[String, Order]
  lazy val name: String = path.trim
  protected var last: Option[Order] = None
  val (left, right) = (1, 2)
  override val limit = Limit

  /** Opens a file. */
  def this(file: File) = this(file.getPath)(Clock.system)

  override def count: Int = cache.size

  /** Finds an order.
    *
    * @param key its number
    * @return the order, if there is one
    */
  @throws[Problem]("where it can't be read")
  override def find(key: String, deep: Boolean = false): Option[Order] = {
    if (key.isEmpty || key == "0") None
    else if (deep && size > 1) {
      for (one <- cache.values if one.id == key) return Some(one)
      None
    } else cache.get(key)
  }

  private def load[T <: Order: Reader](key: String*)(then: T => Unit)(implicit clock: Clock): Unit = {
    try {
      key.foreach(one => then(read[T](one)))
    } catch {
      case e: Problem => println(e.getMessage)
      case _: Exception if size > 3 => close()
    } finally close()
    key match {
      case Seq("a") | Seq("b") => ()
      case _ => ()
    }
  }

  protected[this] def close(): Unit = {
    while (size > 0) { size -= 1 }
    do { trim(1) } while (size > 3)
  }

  def +(order: Order): Store = this

  def trim(by: => Int) { size -= by }

  class Cursor {
    def next(): Order = cache.values.head
  }
}

/** Beside the class. */
object Store {
  final val Limit = 10
  private val Wait = 5
  def default: Store = new Store("default")
  implicit class Words(val text: String) extends AnyVal {
    def words: Array[String] = text.split(" ")
  }
  implicit def toPath(store: Store): String = store.path
}

package object base {
  type Id = String
}

enum Color(val rgb: Int) {
  case Red extends Color(0xff0000)
  case Mix(mix: Int) extends Color(mix)
}

given ordering: Ordering[Order] with {
  def compare(x: Order, y: Order): Int = x.id.compare(y.id)
}

extension (order: Order) {
  def opened: Boolean = order.state == State.Open
}

// Starts it.
def main(args: Array[String]): Unit = {
  val store = new Store(args(0))
  store.find("a")
}
