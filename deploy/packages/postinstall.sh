#!/bin/sh
# The unit is not started: it wants its flags first.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers axle-hub.conf
elif ! getent passwd axle-hub >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/axle-hub --shell /usr/sbin/nologin axle-hub
fi
chgrp axle-hub /etc/axle-hub/axle-hub.env
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart axle-hub.service
fi
