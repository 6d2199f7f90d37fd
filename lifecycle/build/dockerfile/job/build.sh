# $1 are the attributes of the exporter; the other arguments are for buildctl. The environment has POLICY.
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
buildctl build --progress=plain --metadata-file=/tmp/metadata.json --source-policy-file=/tmp/policy.json \
	--local=context=/inputs/tree --local=dockerfile=/inputs/tree --output="$export_to" "$@" &
build=$!
trap 'kill "$build"' TERM INT
wait "$build"
{
	echo "version $version"
	grep -E '"containerimage\.digest": *"sha256:[0-9a-f]{64}"' /tmp/metadata.json
} >/dev/termination-log
