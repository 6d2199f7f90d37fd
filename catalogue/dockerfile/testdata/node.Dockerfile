#!/usr/bin/env docker-build
# syntax=docker/dockerfile:1
ARG NODE=22
FROM node:$NODE-slim AS deps
WORKDIR /app
COPY web/package*.json ./
RUN --mount=type=cache,target=/var/cache/npm npm ci --cache /var/cache/npm

FROM deps AS build
COPY --exclude=**/*.test.ts --exclude=web/stories web ./
ADD --checksum=sha256:24454f830cdb571e2c4ad15481119c43b3cafd48dd869a9b2945d1036d1dc68d \
    https://example.org/fonts.tar.gz /fonts/
ADD https://example.org/latest.json /app/
ADD https://github.com/example/icons.git#v1.2 /icons
ADD --keep-git-dir=false https://github.com/example/icons.git?ref=main&commit=0123456789abcdef0123456789abcdef01234567 /icons2
RUN npm run build

FROM nginx:1.29-alpine
COPY --from=build /app/dist /usr/share/nginx/html
COPY ["web/nginx conf/site.conf", "/etc/nginx/conf.d/default.conf"]
ONBUILD COPY extra /usr/share/nginx/html/extra
