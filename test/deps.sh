#!/usr/bin/env bash
# Installs what the tests need beside Go, Node and git, or says what is missing. With the
# argument node, also what the real node of test/node runs; with signin, the proxies of hub/oidc.
set -euo pipefail

missing=()
command -v zstd >/dev/null || missing+=(zstd)
command -v sqlite3 >/dev/null || missing+=(sqlite3)
command -v chromium-headless-shell >/dev/null || missing+=(chromium-headless-shell)
command -v kubectl >/dev/null || missing+=(kubectl)
for tool in busybox curl jq openssl; do # the jobs of examples/ci and install.sh
	command -v "$tool" >/dev/null || missing+=("$tool")
done
command -v prometheus >/dev/null || missing+=(prometheus)
command -v prometheus-alertmanager >/dev/null || missing+=(prometheus-alertmanager)
command -v victoria-metrics >/dev/null || missing+=(victoria-metrics)
command -v rpm >/dev/null || missing+=(rpm) # packages are installed, on a machine of their own
[ -x /usr/lib/systemd/systemd ] || missing+=(systemd)
command -v nsenter >/dev/null || missing+=(util-linux)
for tool in prometheus victoria-metrics; do # metrics of clusters
	command -v "$tool" >/dev/null || missing+=("$tool")
done
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
if ! command -v postgres >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
	missing+=(postgresql)
fi
git --exec-path >/dev/null 2>&1 && [ -x "$(git --exec-path)/git-http-backend" ] || missing+=(git)
if [ "${1:-}" = node ]; then
	command -v containerd >/dev/null || missing+=(containerd)
	command -v runc >/dev/null || missing+=(runc)
	[ -x /usr/lib/cni/ptp ] || missing+=(containernetworking-plugins)
	command -v docker-registry >/dev/null || missing+=(docker-registry)
	command -v nft >/dev/null || missing+=(nftables)
	command -v dnsmasq >/dev/null || missing+=(dnsmasq-base)
	command -v ip >/dev/null || missing+=(iproute2)
fi
if [ "${1:-}" = signin ]; then
	[ -e /usr/lib/apache2/modules/mod_auth_openidc.so ] || missing+=(libapache2-mod-auth-openidc)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
	echo "missing on this machine, please install: ${missing[*]}" >&2
	exit 1
fi
echo "installing ${missing[*]}"
apt-get update -qq
# kubectl is packaged under another name in Debian.
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]/kubectl/kubernetes-client}"
