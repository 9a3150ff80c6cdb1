//! The document's messages, as it has them.

pub(super) const INITIALIZE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2024-11-05",
    "capabilities": {
      "resources": {
        "subscribe": true
      },
      "tools": {}
    },
    "clientInfo": {
      "name": "claude-desktop",
      "version": "1.0.0"
    }
  }
}"#;

pub(super) const INITIALIZED: &str = r#"{
  "jsonrpc": "2.0",
  "method": "initialized",
  "params": {}
}"#;

pub(super) const RESOURCES_LIST: &str = r#"{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "resources/list",
  "params": {}
}"#;

pub(super) const RESOURCES_READ: &str = r#"{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "resources/read",
  "params": {
    "uri": "ast://project/src/users.ts"
  }
}"#;

pub(super) const RESOURCES_SUBSCRIBE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 4,
  "method": "resources/subscribe",
  "params": {
    "uri": "ast://project/src/users.ts"
  }
}"#;

pub(super) const TOOLS_LIST: &str = r#"{
  "jsonrpc": "2.0",
  "id": 5,
  "method": "tools/list",
  "params": {}
}"#;

pub(super) const PARSE_FILES: &str = r#"{
  "jsonrpc": "2.0",
  "id": 6,
  "method": "tools/call",
  "params": {
    "name": "parse_files",
    "arguments": {
      "files": ["src/users.ts", "src/auth.ts"],
      "options": {
        "recursive": true,
        "includeComments": true
      }
    }
  }
}"#;

/// The text that answers [`PARSE_FILES`].
pub(super) const PARSED: &str = "Successfully parsed 2 files and extracted 15 annotations.\n\nFiles processed:\n- src/users.ts: 8 annotations (5 functions, 2 classes, 1 interface)\n- src/auth.ts: 7 annotations (4 functions, 2 classes, 1 enum)\n\nAnnotations are now available for querying.";

pub(super) const QUERY_ANNOTATIONS: &str = r#"{
  "jsonrpc": "2.0",
  "id": 7,
  "method": "tools/call",
  "params": {
    "name": "query_annotations",
    "arguments": {
      "query": "functions that handle user authentication",
      "options": {
        "limit": 5,
        "threshold": 0.8
      }
    }
  }
}"#;

/// What a client with a subscription is sent.
pub(super) const RESOURCES_UPDATED: &str = r#"{
  "jsonrpc": "2.0",
  "method": "notifications/resources/updated",
  "params": {
    "uri": "ast://project/src/users.ts"
  }
}"#;

/// The error that answers a call of `parse_files` without a file.
pub(super) const INVALID_PARAMS: &str = r#"{
  "jsonrpc": "2.0",
  "id": 8,
  "error": {
    "code": -32602,
    "message": "Invalid params",
    "data": {
      "parameter": "files",
      "reason": "must be a non-empty array"
    }
  }
}"#;

pub(super) const INITIALIZE_WITH_AUTH: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {
      "name": "client",
      "version": "1.0.0"
    },
    "auth": {
      "type": "bearer",
      "token": "mySecretToken"
    }
  }
}"#;

/// `.ast-copilot-helper.json`.
pub(super) const CONFIGURATION: &str = r#"{
  "server": {
    "port": 3001,
    "host": "localhost",
    "transport": "stdio",
    "auth": {
      "enabled": false,
      "token": "secretToken"
    },
    "rateLimit": {
      "enabled": true,
      "requests": 100,
      "window": 60000
    },
    "cors": {
      "enabled": false,
      "origins": ["https://localhost:3000"]
    },
    "logging": {
      "level": "info",
      "file": "mcp-server.log"
    }
  }
}"#;
