# A static binary in an image that holds nothing else: no shell, no package manager, no root.
#
#   docker build -t schedscope:0.1.0 .
#   docker run --rm --read-only --cap-drop ALL schedscope:0.1.0 --version
#
# BUILD_IMAGE needs Rust on Alpine, where what is built is static. RUNTIME_IMAGE may be `scratch`, the default, or a
# distroless image for static binaries (`static:nonroot`) from the registry of your choice: what a runtime needs of such
# an image, certificates of authorities and a user, is put there either way.
ARG BUILD_IMAGE=rust:1.95-alpine
ARG RUNTIME_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
RUN apk add --no-cache ca-certificates musl-dev make
WORKDIR /src
COPY . .
# Alpine's own target is linked statically unless it is told otherwise.
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin schedscope \
    && install -D -m 0755 target/release/schedscope /image/schedscope \
    && install -D -m 0644 LICENSE /image/LICENSE \
    && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && printf 'nonroot:x:65532:65532::/:/sbin/nologin\n' > /image/etc/passwd \
    && printf 'nonroot:x:65532:\n' > /image/etc/group \
    && install -d -o 65532 -g 65532 -m 0700 /image/run/schedscope
# A binary that asks for a loader would not start in an empty image.
RUN ! readelf -l /image/schedscope | grep -q INTERP

FROM ${RUNTIME_IMAGE}
LABEL org.opencontainers.image.title="schedscope" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.description="A terminal console with a complete Kubernetes scheduler inside it"
COPY --from=build /image /
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["/schedscope"]
CMD ["serve"]
