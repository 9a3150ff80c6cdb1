//! Languages by the word for them: what their packs capture is handed in.

use super::*;

fn leads(
    language: &str,
    from: &str,
    head: &str,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> Vec<String> {
    let statement = Statement {
        module: module.to_owned(),
        line: 1,
        head: head.to_owned(),
        ..Statement::default()
    };
    let asked = ImportQuery { from, statement: &statement, held: &HashSet::new() };
    let shown = |part: StatementPart| {
        let ImportTarget { local, files, package } = part.target;
        let (file, line) = (files.first().cloned(), 1);
        let StatementPart { module, names, .. } = part;
        let (type_only, declares) = (false, false);
        show(&Import { module, names, line, local, file, files, package, type_only, declares })
    };
    parts(language, &asked, files).into_iter().map(shown).collect()
}

fn check(files: &RepositoryFiles<'_>, cases: &[(&str, &str, &str, &str, &str)]) {
    for (language, from, head, module, want) in cases {
        let found: Vec<String> = leads(language, from, head, module, files)
            .iter()
            .map(|line| line.split_once(" -> ").map_or("", |(_, leads)| leads).to_owned())
            .collect();
        assert_eq!(found.join(" | "), *want, "{language} {from}: {head} {module}");
    }
}

#[test]
fn paths_are_included() {
    let files = files(&[
        ("src/net/http.c", ""),
        ("src/net/http.h", ""),
        ("include/shop/table.h", ""),
        ("third/odd/place.h", ""),
        ("zig/a.zig", ""),
        ("zig/b/c.zig", ""),
        ("api/v1/cart.proto", ""),
        ("api/v1/item.proto", ""),
        ("bin/run.sh", ""),
        ("bin/lib/log.sh", ""),
    ]);
    check(
        &files,
        &[
            ("c", "src/net/http.c", "#include", "\"http.h\"", "src/net/http.h"),
            ("c", "src/net/http.c", "#include", "shop/table.h", "include/shop/table.h"),
            ("cpp", "src/net/http.c", "#include", "<shop/table.h>", "include/shop/table.h"),
            ("cpp", "src/net/http.c", "#include", "\"place.h\"", "third/odd/place.h"),
            ("cpp", "src/net/http.c", "#include", "<vector>", "std vector"),
            ("c", "src/net/http.c", "#include", "<sys/types.h>", "std sys/types.h"),
            ("cpp", "src/net/http.c", "#include", "<boost/asio.hpp>", "boost -"),
            ("c", "src/net/http.c", "#include", "\"none.h\"", "?"),
            ("zig", "zig/a.zig", "@import(", "\"b/c.zig\"", "zig/b/c.zig"),
            ("zig", "zig/a.zig", "@import(", "std", "std std"),
            ("zig", "zig/a.zig", "@import(", "known", "known -"),
            ("proto", "api/v1/cart.proto", "import", "\"v1/item.proto\"", "api/v1/item.proto"),
            (
                "proto",
                "api/v1/cart.proto",
                "import",
                "google/protobuf/any.proto",
                "std google/protobuf/any.proto",
            ),
            ("bash", "bin/run.sh", "source", "./lib/log.sh", "bin/lib/log.sh"),
            ("bash", "bin/run.sh", ".", "\"$(dirname \"$0\")/lib/log.sh\"", "bin/lib/log.sh"),
            ("bash", "bin/run.sh", ".", "$HERE/lib/log.sh", "bin/lib/log.sh"),
            ("bash", "bin/run.sh", ".", "/etc/profile", "nothing"),
            ("bash", "bin/run.sh", "source \"$here", "/lib/log.sh", "bin/lib/log.sh"),
            ("zig", "zig/a.zig", "@cInclude(", "stdio.h", "std stdio.h"),
        ],
    );
}

#[test]
fn names_lead_to_paths() {
    let files = files(&[
        ("lib/shop/table.rb", ""),
        ("lib/shop.rb", ""),
        ("gems/core/lib/core/base.rb", ""),
        ("lua/shop/init.lua", ""),
        ("lua/shop/cart.lua", ""),
        ("web/lib/shop/cart_item.ex", ""),
        ("web/lib/shop/cart.ex", ""),
        ("src/Data/Shop/Cart.hs", ""),
        ("Sources/ShopKit/a.swift", ""),
    ]);
    check(
        &files,
        &[
            ("ruby", "lib/shop.rb", "require_relative", "shop/table", "lib/shop/table.rb"),
            ("ruby", "lib/shop/table.rb", "require", "shop", "lib/shop.rb"),
            ("ruby", "lib/shop.rb", "require", "core/base", "gems/core/lib/core/base.rb"),
            ("ruby", "lib/shop.rb", "require", "json", "std json"),
            ("ruby", "lib/shop.rb", "require", "rails/all", "rails -"),
            ("lua", "lua/shop/cart.lua", "require", "\"shop\"", "lua/shop/init.lua"),
            ("lua", "lua/shop/init.lua", "require", "shop.cart", "lua/shop/cart.lua"),
            ("lua", "lua/shop/init.lua", "dofile(", "cart.lua", "lua/shop/cart.lua"),
            ("elixir", "web/lib/a.ex", "alias", "Shop.CartItem", "web/lib/shop/cart_item.ex"),
            (
                "elixir",
                "web/lib/a.ex",
                "alias",
                "Shop.{Cart, CartItem}",
                "web/lib/shop/cart.ex | web/lib/shop/cart_item.ex",
            ),
            ("elixir", "web/lib/a.ex", "use", "GenServer", "std GenServer"),
            ("elixir", "web/lib/a.ex", "use", "Phoenix.Router", "phoenix -"),
            ("haskell", "app/Main.hs", "import", "Data.Shop.Cart", "src/Data/Shop/Cart.hs"),
            ("haskell", "app/Main.hs", "import qualified", "Data.List", "std Data.List"),
            ("haskell", "app/Main.hs", "import", "Data.Aeson", "Data.Aeson -"),
            ("swift", "Tests/a.swift", "import", "ShopKit", "?"),
            ("swift", "Tests/a.swift", "import", "Foundation", "std Foundation"),
            ("sql", "a.sql", "", "x", "nothing"),
        ],
    );
}

#[test]
fn manifests_say_where_names_lead() {
    let files = files(&[
        (
            "composer.json",
            r#"{"autoload": {"psr-4": {"App\\": "src/", "App\\Db\\": ["db", "db2"]}}}"#,
        ),
        ("src/Model/User.php", ""),
        ("db2/Table.php", ""),
        ("inc/top.php", ""),
        ("mobile/pubspec.yaml", "# x\nname: 'shop' # ours\nversion: 1.0.0\n"),
        ("mobile/lib/src/cart.dart", ""),
        ("Shop.Core/Shop.Core.csproj", ""),
        ("Shop.Core/Carts/Cart.cs", ""),
        ("Shop.Core/Carts/Item.cs", ""),
        ("k/src/shop/Cart.kt", ""),
        ("s/src/main/scala/org/shop/Cart.scala", ""),
    ]);
    check(
        &files,
        &[
            ("php", "src/a.php", "use", "App\\Model\\User", "src/Model/User.php"),
            (
                "php",
                "src/a.php",
                "use",
                "App\\{Model\\User, Db\\Table}",
                "src/Model/User.php | db2/Table.php",
            ),
            ("php", "src/a.php", "use", "App\\Gone", "?"),
            ("php", "src/a.php", "use", "Symfony\\Component\\Console", "symfony/console -"),
            ("php", "src/a.php", "use", "Exception", "std Exception"),
            ("php", "src/a.php", "require_once", "'inc/top.php'", "inc/top.php"),
            (
                "dart",
                "mobile/lib/main.dart",
                "import",
                "package:shop/src/cart.dart",
                "mobile/lib/src/cart.dart",
            ),
            (
                "dart",
                "mobile/lib/main.dart",
                "import",
                "'src/cart.dart'",
                "mobile/lib/src/cart.dart",
            ),
            ("dart", "mobile/lib/main.dart", "import", "dart:io", "std io"),
            ("dart", "mobile/lib/main.dart", "import", "package:http/http.dart", "http -"),
            (
                "csharp",
                "App/a.cs",
                "using",
                "Shop.Core.Carts",
                "Shop.Core/Carts/Cart.cs Shop.Core/Carts/Item.cs",
            ),
            (
                "csharp",
                "App/a.cs",
                "using static",
                "Shop.Core.Carts.Cart",
                "Shop.Core/Carts/Cart.cs",
            ),
            ("csharp", "App/a.cs", "using", "System.Linq", "std System.Linq"),
            ("csharp", "App/a.cs", "using", "Newtonsoft.Json", "Newtonsoft.Json -"),
            ("kotlin", "k/src/Main.kt", "import", "org.big.shop.Cart", "k/src/shop/Cart.kt"),
            (
                "scala",
                "s/x.scala",
                "import",
                "org.shop.{Cart => C, Gone}",
                "s/src/main/scala/org/shop/Cart.scala",
            ),
            ("scala", "s/x.scala", "import", "scala.util.Try", "std scala.util"),
        ],
    );
}
