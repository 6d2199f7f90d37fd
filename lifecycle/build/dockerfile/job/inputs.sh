# $1 is the address, $2 the reference, $3 the commit, $4 the tree, $5 their format. The environment has HELPER.
set -eu
umask 022
git init --quiet --bare --template= --object-format="$5" /inputs/git
cd /inputs/git
git -c credential.helper="$HELPER" -c http.followRedirects=false fetch --quiet --depth=1 --no-tags -- "$1" "+$2:refs/pharos/fetched"
commit=$(git rev-parse --verify --quiet 'refs/pharos/fetched')
tree=$(git rev-parse --verify --quiet 'refs/pharos/fetched^{tree}')
if [ "$commit" != "$3" ] || [ "$tree" != "$4" ]; then
	echo "the Git server has commit $commit with tree $tree under $2, and not $3 with tree $4" >&2
	exit 65
fi
# This has the last word on attributes: the files are to be what the objects are.
mkdir -p info
echo '* -text !eol !ident !filter !working-tree-encoding' >info/attributes
mkdir /inputs/tree
git --work-tree=/inputs/tree read-tree "$4"
git -c core.protectNTFS=false -c core.protectHFS=false --work-tree=/inputs/tree checkout-index --all --quiet
