# $1 is the address, $2 the reference, $3 the commit, $4 the tree, $5 their format. The environment has HELPER.
# The exit code says what failed: 69 to fetch, 65 what was fetched is another, 73 to write the files.
set -eu
umask 022
git init --quiet --bare --template= --object-format="$5" /inputs/git
cd /inputs/git
# Where a server redirects to is not where the credentials are for.
git -c credential.helper="$HELPER" -c http.followRedirects=false fetch --quiet --depth=1 --no-tags -- "$1" "+$2:refs/pharos/fetched" || exit 69
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
# Names that are special on other systems are names here.
git config core.protectNTFS false
git config core.protectHFS false
git --work-tree=/inputs/tree read-tree "$4" || exit 73
git --work-tree=/inputs/tree checkout-index --all --quiet || exit 73
