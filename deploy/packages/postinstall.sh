#!/bin/sh
# The unit is not started: it wants its flags first.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers axle-hub.conf
elif ! getent passwd axle-hub >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/axle-hub --shell /usr/sbin/nologin axle-hub
fi
# Who deleted the file wants none.
if [ -e /etc/axle-hub/axle-hub.env ]; then
	chgrp axle-hub /etc/axle-hub/axle-hub.env
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart axle-hub.service ||
		echo "axle-hub did not start again: journalctl -u axle-hub says why" >&2
fi
