#!/bin/sh
# An upgrade keeps the hub running until the new program is there. The data stays.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now axle-hub.service ||
			echo "axle-hub did not stop: systemctl status axle-hub says why" >&2
	fi
	;;
esac
