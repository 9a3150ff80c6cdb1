(preproc_include path: (system_lib_string) @module) @import
(preproc_include path: (string_literal (string_content) @module)) @import
