# $1 are the attributes of the exporter; the other arguments are for buildctl. The environment has POLICY,
# and MASK, the program of awk that blacks out secrets.
set -eu
export_to=$1
shift
printf '%s' "$POLICY" >/tmp/policy.json
# BuildKit may wait for its cache for as long as another build uses it.
version=$(buildctl --timeout=0 --wait debug info --format '{{.BuildkitVersion.Version}}')
case $version in
*[!A-Za-z0-9.+-]*) version= ;;
'') ;;
*) export_to="$export_to,annotation-index.pharos.dev/toolchain=buildkit $version" ;;
esac
# What is printed goes through the filter, which alone writes to the pod's log.
mkfifo /tmp/printed
LC_ALL=C awk "$MASK" /run/pharos/secrets/* /run/pharos/secrets/.[!.]* </tmp/printed &
filter=$!
buildctl build --progress=plain --metadata-file=/tmp/metadata.json --source-policy-file=/tmp/policy.json \
	--local=context=/inputs/tree --local=dockerfile=/inputs/tree --output="$export_to" "$@" >/tmp/printed 2>&1 &
build=$!
trap 'kill "$build"' TERM INT
code=0
wait "$build" || code=$?
wait "$filter"
[ "$code" -eq 0 ] || exit "$code"
{
	echo "version $version"
	grep -E '"containerimage\.digest": *"sha256:[0-9a-f]{64}"' /tmp/metadata.json
} >/dev/termination-log
