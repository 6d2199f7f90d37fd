# syntax=docker/dockerfile:1.9@sha256:fe40cf4e92cd0c467be2cfc30657a680ae2398318afd50b0c80585784c604f28
# Builds the api for any platform on the machine's own.
ARG GO_VERSION=1.26
ARG REGISTRY=docker.io/library

FROM --platform=$BUILDPLATFORM ${REGISTRY}/golang:${GO_VERSION}-alpine AS base
WORKDIR /src
ENV CGO_ENABLED=0 \
    GOFLAGS=-trimpath

FROM base AS modules
# check=skip=JSONArgsRecommended
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

FROM modules AS build
ARG TARGETOS TARGETARCH
ARG SERVICE=api
COPY --parents ./libs/./**/*.go /src/libs/
COPY services/${SERVICE}/ services/${SERVICE}/
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=bind,source=tools/version.sh,target=/version.sh <<EOT
set -e
GOOS=$TARGETOS GOARCH=$TARGETARCH go build -ldflags "$(/version.sh)" -o /out/app ./services/api
EOT

FROM build AS test
COPY . .
RUN --mount=type=bind,from=postgres:17,source=/usr/bin/pg_config,target=/usr/bin/pg_config go test ./...

FROM alpine:3.22@sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1 AS certs
RUN apk add --no-cache ca-certificates

FROM scratch AS final
COPY --from=certs /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=ghcr.io/grpc-ecosystem/grpc-health-probe:v0.4.38 /ko-app/grpc-health-probe /probe
COPY --from=Build --link /out/app /app
COPY <<-"EOT" /etc/passwd
	nobody:x:65534:65534::/:
EOT
USER nobody
ENTRYPOINT ["/app"]
