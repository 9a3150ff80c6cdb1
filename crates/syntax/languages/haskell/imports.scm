(import module: (module) @module) @import
(import names: (import_list name: (import_name [variable: (_) type: (_)] @name))) @import
