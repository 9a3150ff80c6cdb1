# syntax=docker/dockerfile:1

# Builds docent from source. The version of Rust is the workspace's own, and the glibc that of the image below.
FROM rust:1.95.0-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY models models
COPY xtask xtask
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package docent \
    && install -D target/release/docent /out/docent

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="docent" \
      org.opencontainers.image.description="An MCP server that shows AI agents round code and documentation" \
      org.opencontainers.image.source="https://github.com/docent-mcp/docent" \
      org.opencontainers.image.licenses="Apache-2.0"

# An ordinary user, whose home has the settings, the index and the record of calls.
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/docent --shell /usr/sbin/nologin docent \
    && mkdir /project
COPY --from=build /out/docent /usr/local/bin/docent

ENV HOME=/var/lib/docent
USER 10001:10001
WORKDIR /project
VOLUME ["/var/lib/docent"]
EXPOSE 8001

# The route needs no key. Debian's slim image has no curl, but its bash can open a connection.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8001 && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]

# Other machines reach the address of a container, so that docent starts only where MCP_API_KEY or a configuration says
# who may call it.
ENTRYPOINT ["docent"]
CMD ["serve", "--transport", "http", "--host", "0.0.0.0", "--port", "8001", "--root", "/project"]
