#!/bin/sh
# Runs as root inside the new image, in both forms, after the packages are installed. Expects NAME, UID_, HOME_, DIRS, LOCALES.
set -eu
old=$(getent passwd "$UID_" | cut -d: -f1)
if [ -n "$old" ] && [ "$old" != "$NAME" ]; then
    sed -i "/^$old:/d" /etc/passwd /etc/group /etc/shadow
fi
grep -q "^$NAME:" /etc/group || echo "$NAME:x:$UID_:" >> /etc/group
grep -q "^$NAME:" /etc/passwd || echo "$NAME:x:$UID_:$UID_::$HOME_:/bin/bash" >> /etc/passwd
for dir in $DIRS; do mkdir -p "$dir"; done
mkdir -p "$HOME_"
chown "$UID_:$UID_" "$HOME_"
for locale in $LOCALES; do localedef -i "$locale" -f UTF-8 "$locale.UTF-8"; done
# What differs from build to build and serves no run.
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/cache/ldconfig/aux-cache /var/log/*.log /var/log/apt/*
# How the builder's own machine reaches its package archive is nobody's business in the image.
rm -f /etc/apt/apt.conf.d/99mmdebstrap /etc/apt/sources.list.d/0000host.* /etc/apt/sources.list
