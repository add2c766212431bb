SUMMARY = "Compiler and simulator for Arm Ethos-U NPUs"
DESCRIPTION = "Takes a PyTorch model, compiles it for an Ethos-U NPU, and runs it on a simulated NPU. \
               Not an Arm product."
HOMEPAGE = "https://carina.invalid"
BUGTRACKER = "https://carina.invalid/issues"
CVE_PRODUCT = "carina"
SECTION = "devel"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

DEPENDS = "\
    cli11 \
    flatbuffers \
    flatbuffers-native \
    fmt \
    highway \
    inih \
    libdeflate \
    libjpeg-turbo \
    libpng \
    minizip \
    nlohmann-json \
    onetbb \
    vulkan-headers \
    zlib \
"

# The archive that scripts/release.sh makes.
SRC_URI = "file://carina-${PV}.tar.gz"

inherit cmake pkgconfig python3native

EXTRA_OECMAKE = "\
    -DCARINA_PYTHON=OFF \
    -DBUILD_TESTING=OFF \
    -DCARINA_BENCH=OFF \
    -DCARINA_WARNINGS_ARE_ERRORS=OFF \
"

# As in debian/carina.install and libcarina-dev.install.
FILES:${PN} += "\
    ${datadir}/bash-completion \
    ${datadir}/fish \
    ${datadir}/zsh \
"

RRECOMMENDS:${PN} = "vulkan-loader"

# nativesdk: `carina` in an SDK, where Vela would need a Python with a C extension.
BBCLASSEXTEND = "native nativesdk"
