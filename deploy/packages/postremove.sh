#!/bin/sh
# Nothing here deletes data: not even a purge, which takes the settings.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
case "$1" in
purge)
	if [ -d /var/lib/axle-hub ]; then
		echo "the hub's data stays in /var/lib/axle-hub: delete it, and the user axle-hub, if nobody needs it" >&2
	fi
	;;
esac
