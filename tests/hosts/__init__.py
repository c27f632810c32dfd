"""Every process on a host of its own: network namespaces on one machine, each with its own data folder.

network     hosts, links that can be cut, disks that can be lost
desk        the installation on these hosts, used by command line and API
life        the stand-ins' world, and what is true in it
ledgers     the world beside what the installation stored and sent
__main__    the run: ten minutes of life, kills, a cut link, a lost disk, a backup, a restore elsewhere
"""
