# Environment of this installation. Source it: `. set_env.sh` in bash, zsh or sh.
# May be sourced again; nothing is added twice and this installation comes first. bash and zsh find the folder of this very file,
# other shells take the folder that it was installed in.

if [ -n "${BASH_VERSION:-}" ]; then
    _hccl_home=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval '_hccl_home=${${(%):-%x}:A:h}'
else
    _hccl_home='@PREFIX@'
fi

# _hccl_prepend VARIABLE FOLDER: makes the folder the first of the list, and has it there once.
_hccl_prepend() {
    eval "_hccl_list=:\${$1:-}:"
    while :; do
        case "$_hccl_list" in
            *":$2:"*) _hccl_list="${_hccl_list%%":$2:"*}:${_hccl_list#*":$2:"}" ;;
            *) break ;;
        esac
    done
    _hccl_list="${_hccl_list#:}"
    _hccl_list="${_hccl_list%:}"
    eval "export $1=\"\$2\${_hccl_list:+:\$_hccl_list}\""
    unset _hccl_list
}

export ASCEND_HOME_PATH="$_hccl_home"
export ASCEND_TOOLKIT_HOME="$_hccl_home"
export ASCEND_OPP_PATH="$_hccl_home/opp"
_hccl_prepend LD_LIBRARY_PATH "$_hccl_home/lib64"
_hccl_prepend PYTHONPATH "$_hccl_home/python"
_hccl_prepend PATH "$_hccl_home/bin"

unset -f _hccl_prepend
unset _hccl_home
