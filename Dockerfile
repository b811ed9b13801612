# docker build -t crope . && docker run --rm -p 8080:8080 -v "$PWD/out:/out" crope serve /out/run --host 0.0.0.0
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends make python3 ca-certificates
WORKDIR /src
COPY . .
RUN make build && cmake --install build/release --prefix /opt/crope

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends gnuplot-nox && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/crope /opt/crope
ENTRYPOINT ["/opt/crope/bin/crope"]
