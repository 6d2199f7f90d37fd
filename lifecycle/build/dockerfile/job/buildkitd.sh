# $1 is the folder of the cache. The environment has SHARED, CONFIG and GROUP.
set -eu
mkdir -p "$1"
if [ -n "$SHARED" ]; then
	command -v flock >/dev/null || { echo "the image has no flock, which a shared cache needs" >&2; exit 69; }
	# One BuildKit at a time may use the folder. The lock is held until this process ends.
	exec 9>"$1.lock"
	flock 9
fi
printf '%s' "$CONFIG" >/tmp/buildkitd.toml
exec buildkitd --config=/tmp/buildkitd.toml --root="$1" --addr=unix:///run/buildkit/buildkitd.sock --group="$GROUP"
