#!/usr/bin/env bash
# Packs a wheel, the packages it needs and a small Debian 12 into an OCI image, then tries the image.
#   scripts/image.sh out/dist/bentpipe-*_x86_64.whl out/dist/bentpipe-VERSION-oci.tar
# EXTRAS names the extras of pyproject.toml that the image has. mmdebstrap makes the Debian and
# umoci the image; neither needs a registry of images or a daemon. pip downloads outside, with the
# settings of this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wheel=$(realpath "$1")
[[ $wheel == *_x86_64.whl ]] || { echo "make image needs a wheel for x86_64, not $(basename "$wheel")" >&2; exit 1; }
image=$(realpath "$2")
extras=${EXTRAS-break,gym,pdf,weather}
version=$(basename "$wheel" | cut -d- -f2)
suite=bookworm
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

missing=()
for tool in mmdebstrap umoci; do command -v $tool >/dev/null || missing+=($tool); done
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing Debian packages: ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    else
        echo "make image needs ${missing[*]}; as root on Debian: apt-get install ${missing[*]}" >&2
        exit 1
    fi
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place" # mmdebstrap reads it as another user, if root did not start this

# Wheels for the Python and the C library of this Debian, whatever this machine has.
mkdir "$place/wheels"
platforms=(--platform manylinux2014_x86_64)
for minor in {5..36}; do platforms+=(--platform "manylinux_2_${minor}_x86_64"); done
.venv/bin/python -m pip download --quiet --dest "$place/wheels" --only-binary :all: --implementation cp \
    --python-version 3.11 "${platforms[@]}" "$wheel${extras:+[$extras]}"

# Modules are compiled without the time of their source, because the archive changes it; a container would
# otherwise compile them at every start. The list of fonts is there for the same reason.
cat >"$place/wheels/install" <<INSTALL
set -eu
python3 -m venv /opt/bentpipe
/opt/bentpipe/bin/pip install --quiet --no-compile --no-index --find-links /tmp/wheels 'bentpipe${extras:+[$extras]}==$version'
/opt/bentpipe/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/bentpipe
ln -s /opt/bentpipe/bin/bentpipe /usr/local/bin/bentpipe
mkdir -m 1777 /data /opt/bentpipe/matplotlib
MPLCONFIGDIR=/opt/bentpipe/matplotlib /opt/bentpipe/bin/python -c 'import matplotlib.font_manager'
chmod -R a+rwX /opt/bentpipe/matplotlib
INSTALL

# The emulator's examples use ip and ping; pip needs certificates in an image that is made from this one.
mmdebstrap --quiet --variant=apt --include=python3,python3-venv,iproute2,iputils-ping,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook="copy-in '$place/wheels' /tmp" \
    --customize-hook='env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$1" sh /tmp/wheels/install' \
    --customize-hook='rm -rf "$1"/tmp/wheels "$1"/root/.cache "$1"/etc/hostname "$1"/etc/resolv.conf' \
    --customize-hook='rm -rf "$1"/var/log/apt "$1"/var/log/dpkg.log' \
    "$suite" "$place/root.tar"

created=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
layout=$place/layout
umoci init --layout "$layout"
umoci new --image "$layout:made"
umoci raw add-layer --image "$layout:made" --history.created "$created" --history.created_by scripts/image.sh \
    "$place/root.tar"
umoci config --image "$layout:made" --no-history --created "$created" --architecture amd64 --os linux \
    --config.entrypoint bentpipe --config.cmd=--help --config.workingdir /data \
    --config.env PATH=/opt/bentpipe/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --config.env LC_ALL=C.UTF-8 --config.env MPLCONFIGDIR=/opt/bentpipe/matplotlib \
    --config.label org.opencontainers.image.title=Bentpipe \
    --config.label "org.opencontainers.image.version=$version" \
    --config.label "org.opencontainers.image.licenses=MIT OR Apache-2.0"
umoci gc --layout "$layout" >/dev/null
# podman takes the name of the image from this place; umoci writes none with a colon.
key=org.opencontainers.image.ref.name
sed -i "s#\"$key\":\"made\"#\"$key\":\"localhost/bentpipe:$version\"#" "$layout/index.json"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$layout" -cf "$image" .
scripts/image_smoke.sh "$image"
