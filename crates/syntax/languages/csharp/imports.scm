(using_directive name: (_) "=" . (_) @module) @import
(using_directive !name [(identifier) (qualified_name) (alias_qualified_name)] @module) @import
(extern_alias_directive name: (_) @module) @import
