// Package declared keeps login providers equal to a file, for hubs that are
// installed from Git without manual steps (--login-providers).
//
// It reads files and calls account.Accounts; it talks to no provider, and it never
// deletes one: a provider that was removed from the file stays. hub runs it, on
// every replica.
//
// Invariants: the files are read every 5 s, each of at most 1 MiB. A hub does not
// start with an invalid file. A later mistake is logged and changes nothing.
package declared
